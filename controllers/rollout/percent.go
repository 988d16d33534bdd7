package rollout

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/loopscope/loopscope/telemetry/prose"
)

// maxCount is the largest count that an API object can hold (int32). Results
// are capped here where Kubernetes would wrap around.
const maxCount = math.MaxInt32

// Amount is maxSurge or maxUnavailable as it stands in a spec: an absolute
// number, or a share of the wanted replicas where Percent is not empty.
type Amount struct {
	Int     int64
	Percent string
}

// errPercent says how a share must be written.
var errPercent = errors.New(`a percentage is a whole number with a percent sign, such as "25%"`)

// Percent parses a share such as "25%" and returns its number. Signs, spaces,
// fractions and what no int64 holds are errors, as is a missing sign.
func Percent(share string) (int64, error) {
	digits, ok := strings.CutSuffix(share, "%")
	if !ok || digits == "" {
		return 0, fmt.Errorf("read %q: %w", prose.Clip(share, 24), errPercent)
	}
	for _, c := range []byte(digits) {
		if c < '0' || c > '9' {
			return 0, fmt.Errorf("read %q: %w", prose.Clip(share, 24), errPercent)
		}
	}
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("read %q: above %d%%", prose.Clip(share, 24), int64(math.MaxInt64))
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
	want = max(want, 0)
	if want > 0 && percent > 100*maxCount/want {
		return maxCount, nil // The product might not fit.
	}
	product := percent * want
	n := product / 100
	if up && product%100 != 0 {
		n++
	}
	return min(n, maxCount), nil
}
