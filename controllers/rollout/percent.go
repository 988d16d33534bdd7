package rollout

import (
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/loopscope/loopscope/telemetry/prose"
)

// maxCount is the largest count that an API object can hold (int32). Results
// are capped here where Kubernetes would wrap around.
const maxCount = math.MaxInt32

// Amount is maxSurge or maxUnavailable as it stands in a spec: an absolute
// number, or a share of the wanted replicas where Share is not empty.
type Amount struct {
	Int     int64
	Percent string
}

// errPercent says how a share must be written.
var errPercent = errors.New(`a percentage is a whole number with a percent sign, such as "25%"`)

// Percent parses a share such as "25%" and returns its number. Signs, spaces,
// fractions and anything above 2147483647% are errors, as is a missing sign.
func Percent(share string) (int64, error) {
	digits, ok := strings.CutSuffix(share, "%")
	if !ok || digits == "" {
		return 0, fmt.Errorf("read %q: %w", prose.Clip(share, 24), errPercent)
	}
	var n int64
	for _, c := range []byte(digits) {
		if c < '0' || c > '9' {
			return 0, fmt.Errorf("read %q: %w", prose.Clip(share, 24), errPercent)
		}
		if n = n*10 + int64(c-'0'); n > maxCount {
			return 0, fmt.Errorf("read %q: above %d%%", prose.Clip(share, 24), int64(maxCount))
		}
	}
	return n, nil
}

// of resolves the amount against want, rounding a share up or down.
func (a Amount) of(want int64, up bool) (int64, error) {
	if a.Percent == "" {
		return max(0, min(a.Int, maxCount)), nil
	}
	percent, err := Percent(a.Percent)
	if err != nil {
		return 0, err
	}
	// want and percent are below 2^31, so the product fits.
	product := percent * min(max(want, 0), maxCount)
	n := product / 100
	if up && product%100 != 0 {
		n++
	}
	return min(n, maxCount), nil
}
