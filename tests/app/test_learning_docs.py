"""The loop of docs/learning.md by hand, against a real server and worker."""

import json
import shutil

from askless import Client
from tests.app.serving import serving
from tests.app.tours import ROOT, blocks, read_page, run

ADDRESS = "http://127.0.0.1:8000"


def test_loop_by_hand_works_as_written(tmp_path):
    (loop,) = (
        block
        for block in blocks(read_page("docs/learning.md"), "python")
        if "refresh_model" in block
    )
    folder = tmp_path / "tour"
    shutil.copytree(ROOT / "app" / "demo", folder / "app" / "demo")
    spec = json.loads((folder / "app/demo/heart.json").read_text(encoding="utf-8"))
    home = tmp_path / "home"
    home.mkdir()

    with serving(home) as address, Client(address) as client:
        champion = client.train(
            folder / "app/demo/heart.csv", spec | {"effort": "fast"}
        )
        (folder / "loop.py").write_text(loop.replace(ADDRESS, address))
        played = run("python loop.py", folder)
        assert played.returncode == 0, played.stderr
        challenge = client.challenge(spec["name"])
        crowned = client.crown_model(challenge["challenger"])
        ended = client.challenge(spec["name"])

    assert challenge["champion"] == champion.id
    assert played.stdout.startswith("The challenger")
    assert crowned.champion
    assert ended["decision"]["outcome"] == "promoted"
