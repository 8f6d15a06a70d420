"""Online boosting again, one row after the other, without a look for stumps.

Plain Python that imports nothing of core.
"""

import math

# The speeds of the alphas besides `half_life`, in rows; of the loss that mixes them;
# the step of an alpha and its bound; and how many rows the sums remember at most.
SPEEDS, LOSS_ROWS = (100, 1_000), 100
RATE, MOST_ALPHA = 0.1, 2.0
KEPT_ROWS = 1_000


class NaiveOnline:
    """One row after the other in plain Python, without a look for stumps."""

    def __init__(self, state, params, is_category):
        n_learners, scale = int(state.counts[0]), float(state.facts[1])
        self.is_category = is_category.tolist()
        self.cuts = [
            row[:n].tolist()
            for row, n in zip(state.cuts, state.n_codes.tolist(), strict=True)
        ]
        self.bins = (state.bins / (scale, 1, 1, 1)).tolist()
        self.sums = (state.sums / scale).tolist()
        self.weight = state.facts[0] / scale
        self.squares = (state.squares / scale**2).tolist()
        self.features, self.tests_value = state.stumps[:n_learners].T.tolist()
        self.thresholds = state.thresholds[:n_learners].tolist()
        self.votes = state.votes[:n_learners].tolist()
        self.alphas = state.alphas[:, :n_learners].tolist()
        self.slopes = state.slopes[:, :n_learners].tolist()
        self.losses = state.losses.tolist()
        half_lives = (
            *(min(speed, params.half_life) for speed in SPEEDS),
            params.half_life,
        )
        self.fades = [0.5 ** (1 / place) for place in half_lives]
        self.fade = 0.5 ** (1 / min(KEPT_ROWS, params.half_life))

    def side(self, place, values):
        value, cut = values[self.features[place]], self.thresholds[place]
        if math.isnan(value):
            return 0
        return 1 if (value == cut if self.tests_value[place] else value > cut) else -1

    def learn(self, values, signed):
        places, outputs = range(len(self.thresholds)), range(len(signed))
        shares = [math.exp(-loss) for loss in self.losses]
        shares = [share / sum(shares) for share in shares]
        sides = [self.side(place, values) for place in places]
        mixed = [
            sum(
                share * alphas[place]
                for share, alphas in zip(shares, self.alphas, strict=True)
            )
            for place in places
        ]
        scores = self.score(mixed, sides, outputs)
        total = sum(map(abs, mixed))
        known = sum(abs(mixed[place]) for place in places if sides[place])
        for speed, fade in enumerate(self.fades):
            self.move(speed, fade, sides, signed)
        self.add(
            values,
            signed,
            [pull(score, y) for score, y in zip(scores, signed, strict=True)],
        )
        return (*scores, known / total if total else 0.0)

    def score(self, alphas, sides, outputs):
        return [
            sum(a * s * v[k] for a, s, v in zip(alphas, sides, self.votes, strict=True))
            for k in outputs
        ]

    def move(self, speed, fade, sides, signed):
        outputs = range(len(signed))
        alphas, slopes = self.alphas[speed], self.slopes[speed]
        scores = self.score(alphas, sides, outputs)
        pulls = [pull(scores[k], signed[k]) for k in outputs]
        loss = sum(
            abs(signed[k])
            * math.log1p(math.exp(-math.copysign(1, signed[k]) * scores[k]))
            for k in outputs
        )
        self.losses[speed] = self.losses[speed] * 0.5 ** (1 / LOSS_ROWS) + loss
        for place, side in enumerate(sides):
            slope = side * sum(pulls[k] * self.votes[place][k] for k in outputs)
            slopes[place] = slopes[place] * fade + slope**2
            if slope:
                moved = alphas[place] + RATE * slope / math.sqrt(slopes[place])
                alphas[place] = min(max(moved, -MOST_ALPHA), MOST_ALPHA)

    def add(self, values, signed, pulls):
        self.weight = self.weight * self.fade + sum(map(abs, pulls))
        self.squares = [square * self.fade**2 for square in self.squares]
        for feature, value in enumerate(values):
            for code in range(len(self.bins[feature])):
                self.bins[feature][code][0] *= self.fade
                self.sums[feature][code] = [
                    one * self.fade for one in self.sums[feature][code]
                ]
            if math.isnan(value):
                continue
            code = sum(value > cut for cut in self.cuts[feature])
            if self.is_category[feature] and value not in self.cuts[feature]:
                continue
            self.squares[feature] += sum(map(abs, pulls)) ** 2
            one, own = self.bins[feature][code], sum(map(abs, signed))
            one[0] += own
            one[1] += (value - one[1]) * own / one[0]
            one[2], one[3] = min(one[2], value), max(one[3], value)
            self.sums[feature][code] = [
                a + b for a, b in zip(self.sums[feature][code], pulls, strict=True)
            ]


def pull(score, signed):
    return signed / (1 + math.exp(score if signed > 0 else -score))
