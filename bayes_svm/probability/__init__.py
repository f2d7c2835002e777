"""From decision values to probabilities: sigmoid, links, posterior, evidence."""
