"""`train --templates FILE` with patterns of CRF++ and Wapiti."""

LINES = ["U00:%x[-1,0]", "U01:%x[0,0]", "U02:%x[0,1]/%x[1,1]", "B"]
DATA = "The D B-NP\ndog N I-NP\nruns V O\n\nA D B-NP\ncat N I-NP\n"


def test_the_shell_reads_a_file_of_templates(run, tmp_path):
    data, template, model = tmp_path / "d.txt", tmp_path / "x.template", tmp_path / "m.safetensors"
    data.write_text(DATA)
    template.write_text("\n".join(LINES))
    run("train", "chunk", data, "--templates", template, "--out", model)
    assert run("predict", model, data).stdout == DATA
    assert "U01:dog" in run("weights", model).stdout
    template.write_text("U:%x[0,0]\nU:%x[0,12]\n")
    problem = run("train", "tag", data, "--templates", template, "--out", model, code=2).stderr
    assert problem.endswith(
        "Error: Line 2 of x.template: there is no column 12; the columns have the numbers 0 to 2.\n"
    )
    template.write_text("U:%x[0,2]\n")
    problem = run("train", "tag", data, "--templates", template, "--out", model, code=2).stderr
    assert "Line 1 of x.template: column 2 is the label" in problem
