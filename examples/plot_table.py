"""
A regression on a table
=======================

The data are rents of synthetic flats: numbers, a district, and a year that is missing for some. A row
transformer standardises the numbers, makes one column per district (rare districts share one), and marks
where the year is missing. The lasso then keeps few weights, each with a name. Left: the weights. Right:
rents against predictions.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from structlearn import LinearRegressor, make_table_transformer
from structlearn.estimators.weights.top_weights import top_weights

rng = np.random.default_rng(0)
n = 600
districts = {"Old Town": 350, "Harbour": 200, "Hill": 120, "Park": 0, "Station": -150, "Mill": -220}
names = rng.choice([*districts, "Island", "Quarry"], n, p=[0.2, 0.2, 0.2, 0.2, 0.1, 0.09, 0.005, 0.005])
flats = pd.DataFrame(
    {
        "square metres": rng.gamma(8, 9, n).round(),
        "floor": rng.integers(0, 8, n),
        "year": rng.integers(1890, 2024, n).astype(float),
        "district": names,
        "balcony": rng.choice(["yes", "no"], n),
        "door": rng.choice(["left", "right", "middle"], n),  # which is not useful
    }
)
rent = 250 + 11 * flats["square metres"] + 15 * flats["floor"] + 1.2 * (flats["year"] - 1950)
rent += flats["district"].map(districts).fillna(80) + 90 * (flats["balcony"] == "yes")
rent += rng.normal(0, 70, n) - 100 * (old := rng.random(n) < 0.15)
flats.loc[old, "year"] = np.nan  # the year of cheap flats is unknown

model = LinearRegressor(penalty="l1", regularization=8.0, row_transformer=make_table_transformer())
model.fit(flats[:400], rent[:400])
(group,) = top_weights(model, k=10)
weights = [one for one in group.weights[::-1] if one.name != "(constant)" and abs(one.weight) > 1]

figure, (left, right) = plt.subplots(1, 2, figsize=(12, 5), layout="constrained")
colors = ["#009E73" if one.weight > 0 else "#D55E00" for one in weights]
left.barh([one.name for one in weights], [one.weight for one in weights], color=colors)
left.axvline(0, color="0.5", linewidth=0.8)
left.set(title="what raises a rent, and what lowers it", xlabel="weight (of numbers: for one deviation)")
right.plot(rent[400:], model.predict(flats[400:]), ".", color="#0072B2", alpha=0.6)
right.axline((1000, 1000), slope=1, color="0.5", linewidth=0.8)
right.set(
    title=f"200 new flats: R² {model.score(flats[400:], rent[400:]):.2f}", xlabel="rent", ylabel="predicted"
)
plt.show()
