"""Estimate the label frequency c of a file: ``mpu estimate-c``."""

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import click
import numpy as np
from scipy.sparse import csr_array

from mpu_cli.cli import messages
from mpu_cli.cli.options import refuse_overlaps
from mpu_cli.core.frequency.estimators import capped
from mpu_cli.core.frequency.label_frequency import least_not_refuted
from mpu_cli.core.frequency.questions import forecast, most_planned
from mpu_cli.core.frequency.review_frequency import instances_to_review, reviewed_counts
from mpu_cli.core.frequency.single_frequencies import SingleFrequencies
from mpu_cli.core.options import FrequencyOptions
from mpu_cli.core.predictions import count_positives
from mpu_cli.core.problem import counts_by_chance
from mpu_cli.core.sample import Estimates, refuse_two_frequencies
from mpu_cli.errors import InputError, counted
from mpu_cli.inputs.side_tables import estimate_lines, frequency_lines
from mpu_cli.inputs.training_data import TrainingData, TrainingFiles, read_training_data
from mpu_cli.people.posteriors import Count, Scored, count_missing_labels
from mpu_cli.runtime.run import Run
from mpu_cli.svmlight.streams import open_output, refuse_unwritable


def command(
    sources: TrainingFiles,
    options: FrequencyOptions,
    method: str,
    per_label: bool,
    output: Path | None,
    plan: tuple[float, ...],
    run: Run,
) -> None:
    """Report c from people's decisions, if any, otherwise from cross-validation.

    The features are those that `mpu train` chooses by default, or the same --features, so that both report the same c.
    """
    refuse_overlaps(sources.by_option(), {"--output": output})
    if sources.scores is not None and options.features is not None:
        raise click.UsageError("--scores replaces the model: leave out --features.")
    refuse_unwritable(output)
    data = read_training_data(sources, run, is_for_model=False)
    q = len(data.ids)
    refuse_two_frequencies(data)
    scored = Scored(data, options, run, data.scores)
    estimates = scored.estimates(method)
    report, c = report_of(estimates, data, method), estimates.overall.c
    if output is not None:
        of_groups = ["the file has one c for each label, and none for groups: train with --groups"]
        more = of_groups if estimates.groups is not None else []
        report["warnings"] += more
        with open_output(output) as out:
            rates = estimates.frequency(data).of_annotations(data.labels)
            rates = np.maximum(rates, least_not_refuted(data.labels, data.verified))  # so that training takes this file
            interval = estimates.overall.interval if estimates.is_known else None
            if not estimates.is_known:
                out.write(f"# c is unknown: these are right only if {estimates.assumption}\n".encode())
            of_c = replace(estimates, dominating=None)  # whoever takes this file may have other features
            out.write(estimate_lines(c, interval, data.warnings(of_c) + more))
            out.write(frequency_lines(data.ids, rates, data.names))
    expected = c if estimates.is_known else 0.5  # at 0.5 a plan needs the most instances
    of_file = slice(data.instances_of_file)
    if plan:
        verified = data.verified and data.verified.rows(of_file).of_single_cells()
        left_to_chance = counts_by_chance(data.labels[of_file], verified)[0].sum()
        if not left_to_chance:
            raise InputError(sources.file, "nothing is annotated, so --plan has nothing to go by")
        per_instance = left_to_chance / data.instances_of_file / expected  # true labels
        report["plan"] = [{"width": w, "instances": instances_to_review(w, expected, per_instance)} for w in plan]
    most = 0
    if (data.answers is not None or plan) and (alone := estimates.estimate) is not None:
        with run.step("planning questions"):
            cells, answers = scored.answered()
            of_questions, next_width = forecast(cells, answers, plan, expected, alone.c, reviewed_counts(data))
        most = planned if (planned := most_planned(cells)) < cells.open.sum() else 0
        questions = [{"width": width, "questions": n} for width, n in of_questions.items()]
        report |= messages.present(plan_of_questions=questions or None, next_width=next_width)
    if per_label:
        reviewed = estimates.reviewed
        single = (
            scored.singly(estimates)
            if reviewed is None
            else SingleFrequencies(reviewed.rates, reviewed.intervals, np.zeros(q, bool))
        )
        there, of_labels = data.labels[of_file], missing_labels(estimates, data)[0]
        if data.verified is not None:  # without rejected annotations
            there = there.multiply(data.verified.rows(of_file).positives(there))
        columns = {
            "label": data.ids.tolist(),
            **({"name": list(map(data.names.name, data.ids.tolist()))} if data.names else {}),
            "annotations": count_positives(csr_array(there)).tolist(),
            "c": single.c.tolist(),
            "interval": single.intervals.tolist() if estimates.is_known else [None] * q,
            "missing": np.array(of_labels.expected).tolist() if estimates.is_known else [None] * q,
            "pooled": single.pooled.tolist(),
            "unreliable": single.unreliable.tolist(),
        }
        report["per_label"] = messages.rows_of(columns)
    annotated, possible = counts_by_chance(data.labels, data.verified)
    is_complete = bool((annotated == possible).all())
    messages.output_report(report, partial(_print_report, is_complete=is_complete, most=most))


def report_of(estimates: Estimates, data: TrainingData, method: str = "bbe") -> dict[str, Any]:
    """Report the missing labels of data, from an estimated label frequency.

    c, and values that depend on it, are absent if c is unknown: people seem to have stopped at some number of labels.
    """
    reviewed, pooled, basis = estimates.reviewed, estimates.estimate, estimates.overall
    found: dict[str, Any] = {}
    if estimates.is_known:
        missing = missing_labels(estimates, data)[1].expected
        found |= {"c": basis.c, "missing_rate": 1 - basis.c, "missing": missing, "interval": basis.interval}
        found |= messages.present(per_group=data.report_of_groups(estimates) or None)
    else:
        assert pooled is not None
        found |= {"c_by_scores": basis.c, "label_cap": pooled.label_cap}
    found |= {"labels": len(data.ids), "instances": data.instances_of_file}
    found |= {"predictable": pooled is not None and pooled.predictable}
    advice = messages.first_of_all(estimates.assumption, found.get("interval"))
    found |= messages.present(assumption=estimates.assumption, advice=advice)
    if reviewed is not None:
        used = np.union1d(np.flatnonzero(reviewed.true), () if data.answers is None else data.answers.columns)
        by = "questions" if reviewed.answers else "reviewed" if data.sampled is not None else "complete"
        found |= {"method": by, "labels_used": len(used)} | messages.present(
            complete_instances=reviewed.instances if reviewed.instances or not reviewed.answers else None,
            answers=reviewed.answers or None,
            yes=reviewed.yes if reviewed.answers else None,
            by_annotations_alone=estimates.by_annotations_alone,
        )
    else:
        assert pooled is not None  # estimated from annotations, for lack of anything else
        by_label = None if estimates.single is None else True
        found |= {"method": method, "labels_used": len(pooled.labels)} | messages.present(by_label=by_label)
    return found | {"warnings": data.warnings(estimates)}


def missing_labels(estimates: Estimates, data: TrainingData) -> tuple[Count, Count]:
    """Estimate how many labels of the first file are missing, of each and of all, as if no instance were complete."""
    of_file = slice(data.instances_of_file)
    frequency = estimates.frequency(data).rows(of_file)
    frequency = replace(frequency, verified=frequency.verified and frequency.verified.of_single_cells())
    return count_missing_labels(data.labels[of_file], frequency, estimates)


def by_people(found: dict[str, Any]) -> list[str]:
    """Return the number of people's decisions in a report of c: answers, and complete label sets."""
    nouns = {"answers": ("answer", ""), "complete_instances": ("instance", " with complete label sets")}
    return [counted(found[name], noun) + more for name, (noun, more) in nouns.items() if found.get(name)]


def _print_report(report: dict[str, Any], is_complete: bool, most: int) -> None:
    """Print a report.

    `is_complete`: whether every label is annotated wherever it may be true.
    `most`: the most questions that a plan considers; 0: all there are.
    """
    messages.print_lines(_lines(report, is_complete))
    answers = report.get("answers", 0)
    if "next_width" in report and "interval" in report:
        low, high = report["interval"]
        click.echo(
            f"{counted(answers, 'more answer')} would make the interval about {report['next_width']:.3f} wide; now it "
            f"is {high - low:.3f}"
        )
    if "plan" in report:
        click.echo()
        header = ["interval of c, width", "instances to review", "or more questions" if answers else "or questions"]
        # Below these widths, errors in the assumptions about scores may be larger.
        few = {row["width"]: row["questions"] for row in report.get("plan_of_questions", ())}
        none = "none are enough"
        beyond = f"more than {most:,}" if most else none
        widths = [
            [str(w := row["width"]), n if (n := row["instances"]) <= report["instances"] else none, few.get(w, beyond)]
            for row in report["plan"]
        ]
        messages.print_table([header, *widths])
    messages.print_groups(report.get("per_group"))
    if "per_label" in report:
        click.echo()
        named = ["name"] if any("name" in row for row in report["per_label"]) else []
        messages.print_rates(report["per_label"], ["label", *named, "annotations"], 1)


def _lines(report: dict[str, Any], is_complete: bool) -> dict[str, str]:
    to_answer = f"answer 40 questions, or as many as --plan lists: {messages.QUESTIONS}"
    if "c" not in report:
        return {
            "label frequency c": f"unknown: {capped(report['label_cap'])}",
            "": f"scores suggest {report['c_by_scores']:.3f}, which holds only if {report['assumption']}",
            "missing labels": "unknown",
            "to estimate it": to_answer,
        }
    low, high = report["interval"]
    lines = {
        "label frequency c": f"{report['c']:.3f}   (90 % interval {low:.3f} to {high:.3f})",
        "missing labels": f"{1 - report['c']:.1%}, about {report['missing']:,.0f}",
    }
    if people := by_people(report):
        if "answers" in report:
            people[0] += f", {report['yes']:,} of them yes"
        lines |= {"rests on": "; ".join(people), "assumes": "that these were drawn at random and are right"}
        alone = report.get("by_annotations_alone")
        where = ", of the other instances" * bool(report.get("complete_instances"))
        return lines | ({} if alone is None else {"annotations alone": f"{alone:.3f}{where}"})
    if "advice" in report:
        lines = {"first of all": report["advice"], **lines}
    used = f"{report['labels_used']:,} of {counted(report['labels'], 'label')}"
    if report.get("by_label"):
        used += ", which differ: --per-label shows c of each"
    elif report["method"] == "bbe" and report["labels_used"] < report["labels"]:
        used += " that features distinguish best"
    return lines | {
        "rests on": f"{used} (method {report['method']})",
        "assumes": report["assumption"],
        "to check it": "there is nothing to ask: no label can be missing" if is_complete else to_answer,
    }
