"""Decision values with labels and weights, to fit links to."""

import numpy as np

random = np.random.default_rng(0)
POSITIVE = random.random(80) < 0.4
VALUES = np.where(POSITIVE, 1.0, -1.0) + 1.5 * random.normal(size=80)
WEIGHT = random.choice([0.0, 0.5, 1.0, 3.0], size=80)

random = np.random.default_rng(1)
SHIFTED_POSITIVE = random.random(90) < 0.3
# Far from centred and scaled.
SHIFTED_VALUES = 40.0 + 0.01 * (np.where(SHIFTED_POSITIVE, 1.0, -1.0) + random.normal(size=90))
SHIFTED_WEIGHT = random.choice([0.5, 1.0, 2.0], size=90)
