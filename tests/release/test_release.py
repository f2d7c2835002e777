"""What a release repeats from pyproject.toml, and the forms of its files."""

import doctest
import re

import pytest
import yaml
from packaging.requirements import Requirement

from _repository import path_of, pyproject, text_of

PROJECT = pyproject()["project"]
# What conda calls differently.
CONDA_NAMES = {"matplotlib": "matplotlib-base"}


def recipe():
    return yaml.safe_load(text_of("conda/recipe.yaml"))


def citation():
    return yaml.safe_load(text_of("CITATION.cff"))


def bounds(requirements):
    """Names and lower bounds, which is all that ours have."""
    found = {}
    for line in requirements:
        requirement = Requirement(line)
        (specifier,) = requirement.specifier
        assert specifier.operator == ">="
        found[CONDA_NAMES.get(requirement.name, requirement.name)] = specifier.version
    return found


def test_the_version_is_the_same_everywhere():
    version = PROJECT["version"]
    assert re.search(
        rf"^## \[{re.escape(version)}\] - (unreleased|\d{{4}}-\d\d-\d\d)$", text_of("CHANGELOG.md"), re.M
    )
    assert citation()["version"] == citation()["preferred-citation"]["version"] == version
    assert recipe()["context"]["version"] == version


def test_the_newest_version_of_the_changelog_is_this_one():
    headings = re.findall(r"^## \[(.*?)\]", text_of("CHANGELOG.md"), re.M)
    assert next(heading for heading in headings if heading != "Unreleased") == PROJECT["version"]
    assert headings == list(dict.fromkeys(headings))


def test_the_parts_of_the_changelog_are_those_of_keep_a_changelog():
    kinds = {"Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"}
    for version in re.split(r"^## ", text_of("CHANGELOG.md"), flags=re.M)[1:]:
        parts = re.findall(r"^### (.*)$", version, re.M)
        assert set(parts) <= kinds
        assert len(parts) == len(set(parts))


def test_conda_requires_what_pip_requires():
    requirements = recipe()["requirements"]
    python = f"python{PROJECT['requires-python']}"
    assert bounds(requirements["run"]) == bounds([python, *PROJECT["dependencies"]])
    extras = PROJECT["optional-dependencies"]
    assert bounds(requirements["run_constraints"]) == bounds([*extras["report"], *extras["plots"]])


def test_conda_builds_with_what_pip_builds_with():
    host = recipe()["requirements"]["host"]
    given = bounds([line for line in host if line not in ("python", "pip")])
    assert given == bounds(pyproject()["build-system"]["requires"])


@pytest.mark.parametrize("platform", ["linux-64", "linux-aarch64", "osx-64", "osx-arm64", "win-64"])
def test_the_recipe_renders_on_every_platform(platform):
    rattler = pytest.importorskip("rattler_build", reason="py-rattler-build is not installed")
    parsed = rattler.Stage0Recipe.from_yaml(text_of("conda/recipe.yaml"))
    versions = "python: ['3.11.* *_cpython', '3.14.* *_cp314']"
    variants = rattler.VariantConfig.from_yaml(f"{versions}\nc_compiler: [gcc]\nc_stdlib: [sysroot]\n")
    target = rattler.RenderConfig(platform=rattler.PlatformConfig(target_platform=platform))
    rendered = [variant.recipe.to_dict() for variant in parsed.render(variants, target)]
    assert len(rendered) == 2
    for found in rendered:
        assert found["package"] == {"name": PROJECT["name"], "version": PROJECT["version"]}
        assert found["source"][0]["path"].endswith(f"/bayes_svm-{PROJECT['version']}.tar.gz")
        assert f"gcc_{platform}" in found["requirements"]["build"]


def test_the_citation_names_the_papers_and_no_address_that_is_not_known():
    found = citation()
    assert sorted(reference["year"] for reference in found["references"]) == [1999, 2000, 2002, 2005, 2008]
    known = pyproject()["tool"]["bayes-svm"]
    assert found.get("url", "") == known["documentation"]
    assert found.get("repository-code", "") == known["repository"]


@pytest.mark.parametrize("name", ["bug", "feature", "question"])
def test_an_issue_template_asks_for_something(name):
    form = yaml.safe_load(text_of(f".github/ISSUE_TEMPLATE/{name}.yml"))
    assert {"name", "description", "body"} <= form.keys()
    asked = [part["id"] for part in form["body"]]
    assert len(asked) == len(set(asked))
    assert any(part.get("validations", {}).get("required") for part in form["body"])
    assert all(part["type"] == "textarea" and part["attributes"]["label"] for part in form["body"])


def test_what_the_bug_template_asks_to_run_runs(capsys):
    command = re.search(r'python -c "(.*)"`', text_of(".github/ISSUE_TEMPLATE/bug.yml"))[1]
    exec(command, {})
    assert capsys.readouterr().out.startswith(f"bayes_svm {PROJECT['version']} ")


def test_the_release_publishes_every_wheel_that_it_builds():
    workflow = yaml.safe_load(text_of(".github/workflows/wheels.yml"))
    jobs = workflow["jobs"]
    assert set(jobs["publish"]["needs"]) == jobs.keys() - {"publish"}
    wheels = len(jobs["wheel"]["strategy"]["matrix"]["system"])
    (check,) = (step["run"] for step in jobs["publish"]["steps"] if "run" in step)
    assert f'.whl" | wc -l)" -eq {wheels}' in check
    assert jobs["publish"]["permissions"] == {"id-token": "write"}
    assert jobs["publish"]["if"] == "startsWith(github.ref, 'refs/tags/v')"


@pytest.mark.parametrize("workflow", ["ci", "docs", "wheels"])
def test_every_job_has_an_end_and_every_script_is_there(workflow):
    for job in yaml.safe_load(text_of(f".github/workflows/{workflow}.yml"))["jobs"].values():
        assert job["timeout-minutes"] <= 60
        for step in job["steps"]:
            for script in re.findall(r"bash (\S+)", step.get("run", "")):
                assert path_of(script).is_file()


def test_the_page_of_versions_has_the_bounds_of_pyproject():
    rows = re.findall(r"^\| ([A-Za-z\d-]+)[^|]*\| ([\d.]+) \|", text_of("docs/stability.md"), re.MULTILINE)
    extras = PROJECT["optional-dependencies"]
    python = f"python{PROJECT['requires-python']}"
    required = [python, *PROJECT["dependencies"], *extras["report"], *extras["plots"]]
    plain = {Requirement(line).name: next(iter(Requirement(line).specifier)).version for line in required}
    assert {name.lower(): version for name, version in rows} == plain


def test_the_newest_python_of_the_page_is_that_of_the_classifiers_and_the_workflow():
    newest = re.search(r"^\| Python .*\| (3\.\d+) \|$", text_of("docs/stability.md"), re.MULTILINE)[1]
    versions = [line.rsplit(" ", 1)[1] for line in PROJECT["classifiers"] if re.search(r":: 3\.\d+$", line)]
    assert versions[-1] == newest
    matrix = yaml.safe_load(text_of(".github/workflows/ci.yml"))["jobs"]["tests"]["strategy"]["matrix"]
    assert matrix["python"] == versions


def test_the_example_of_the_page_of_versions_runs():
    (code,) = re.findall(r"^```python\n(.*?)^```", text_of("docs/stability.md"), re.MULTILINE | re.DOTALL)
    test = doctest.DocTestParser().get_doctest(code, {}, "stability", "docs/stability.md", 0)
    result = doctest.DocTestRunner(verbose=False).run(test)
    assert result.attempted > 3
    assert result.failed == 0
