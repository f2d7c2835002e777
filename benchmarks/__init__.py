"""Speed and memory, in the layout of airspeed velocity (asv): one file per subject.

``python -m benchmarks`` runs them without asv.
"""
