"""The scripts of docs/loops.md train as the model does without a pipeline."""

import importlib.util
import pathlib
import re

import pytest
from test_docs import losses_of

pytest.importorskip("transformers")
PAGE = (pathlib.Path(__file__).resolve().parents[2] / "docs" / "loops.md").read_text()
FIRST, *LOOPS = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
PLAIN = """
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
for batch in torch.utils.data.DataLoader(tokens, 16):
    losses = []
    for part in batch.chunk(8):
        losses.append(model(input_ids=part, labels=part).loss)
        (losses[-1] / 8).backward()
    optimizer.step()
    optimizer.zero_grad()
    if torch.distributed.get_rank() == 0:
        print(f"step {torch.stack(losses).mean().item():.6f}")
"""


@pytest.fixture(scope="module")
def unpiped(tmp_path_factory):
    script = tmp_path_factory.mktemp("plain") / "plain.py"
    first = FIRST[: FIRST.index("pipe = ")]
    script.write_text(first + PLAIN)
    return numbers_of(script)


def numbers_of(script):
    return [float(line.split()[-1]) for line in losses_of(script)]


@pytest.mark.parametrize(
    "number, package", enumerate(["accelerate"] * 2 + ["lightning"])
)
def test_a_loop_of_the_page_trains_as_without_a_pipeline(
    number, package, tmp_path, unpiped, monkeypatch
):
    if importlib.util.find_spec(package) is None:
        pytest.skip(f"this Python has no {package}")
    script = tmp_path / "loop.py"
    script.write_text(FIRST + LOOPS[number])
    monkeypatch.chdir(tmp_path)
    losses = numbers_of(script)
    assert len(losses) == 3
    assert losses == pytest.approx(unpiped, abs=2e-6)


RESTARTED = """
dcp.load(training, checkpoint_id="half")
loss = pipe.step(input_ids=tokens[:16], labels=tokens[:16])
if torch.distributed.get_rank() == 0:
    print(f"step {loss.item():.6f}")
"""


def test_the_restart_of_the_page_runs(tmp_path, unpiped, monkeypatch):
    script = tmp_path / "loop.py"
    script.write_text(FIRST + LOOPS[3] + RESTARTED)
    monkeypatch.chdir(tmp_path)
    assert numbers_of(script) == pytest.approx(unpiped[:1], abs=2e-6)
