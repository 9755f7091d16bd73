"""Whether a logged decision's topic was right for its message, and who says so (spec 5.5)."""

from __future__ import annotations

from engine.activation.decision import LABELLER_RANK, Decision

LABELLERS = ("", "gate", "use", "person")
"""Who gave a label, by rising rank; ``""`` for no label."""


def label_of(decision: Decision) -> tuple[bool | None, str]:
    """The label of a decision and whose it is, the highest rank first; ``(None, "")`` where there is none.

    A yes or no of the gate is a label as well, a person's own where the person was the gate. Answers of the
    ``local`` gate are not labels: it would learn from itself.
    """
    said, by = decision.useful, decision.labelled_by
    if said is not None and by == "person":
        return said, by
    if decision.gate_answer in ("yes", "no") and decision.gate_provider not in ("", "local"):
        answerer = "person" if decision.gate_provider == "ask" else "gate"
        if said is None or LABELLER_RANK[answerer] > LABELLER_RANK.get(by, -1):
            return decision.gate_answer == "yes", answerer
    return (said, by) if said is not None else (None, "")
