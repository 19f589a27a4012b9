"""What a notebook shows of a run."""

import re
from dataclasses import fields

import matplotlib as mpl
import matplotlib.pyplot
import numpy as np

from structlearn.solvers import Certificate, History, Row


def test_a_history_draws_the_band_in_which_the_optimum_lies():
    history = History([Row(k, float(k), k, k / 10, 1 / (k + 1), 0.1 * k, 0.0) for k in range(4)])
    with mpl.rc_context({"backend": "agg"}):
        axes = history.plot(x="seconds")
    primal, dual = axes.get_lines()
    np.testing.assert_array_equal(primal.get_ydata(), history.primal)
    np.testing.assert_array_equal(dual.get_ydata(), history.dual)
    np.testing.assert_array_equal(dual.get_xdata(), history.seconds)
    mpl.pyplot.close("all")


def test_a_certificate_is_a_table_and_escapes_its_status():
    found = Certificate(1.0, 0.5, 0.5, 1.0, 1, 0.1, "stopped <here> & now", calls=3)._repr_html_()
    rows = dict(re.findall(r"<tr><th [^>]*>(\w+)</th><td [^>]*>(.*?)</td></tr>", found))
    assert list(rows) == [field.name for field in fields(Certificate) if field.name != "inference_gap"]
    assert rows["gap"] == "0.5"
    assert rows["status"] == "stopped &lt;here&gt; &amp; now"
    assert "color" not in found  # those of the notebook, whatever they are
