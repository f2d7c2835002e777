"""In which order the examples are shown: from the first fit to special cases."""

ORDER = (
    "two_moons",
    "breast_cancer",
    "digits",
    "genes",
    "groups",
    "text",
    "thresholds",
    "reject",
    "conformal_sets",
    "venn_abers",
    "leave_one_out",
    "compare_estimators",
    "choose_c",
    "stacking",
    "class_similarity",
    "multivariate",
    "label_errors",
    "explain",
    "deployment",
)


def place(name):
    """Sort key of an example; figures of the explanation, which are not in the list, come by name."""
    short = name.removeprefix("plot_").removesuffix(".py")
    return (ORDER.index(short) if short in ORDER else len(ORDER), short)
