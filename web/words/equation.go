package words

import (
	"strconv"
	"strings"

	"github.com/loopscope/loopscope/telemetry/decision"
)

// EquationShort is the numbers of an equation: 11 − 8 − 3 = 0.
func EquationShort(e *decision.Equation) string {
	var b strings.Builder
	for i, t := range e.Terms {
		if i > 0 {
			b.WriteString(" − ")
		}
		b.WriteString(strconv.FormatInt(t.Value, 10))
	}
	return b.String() + " = " + strconv.FormatInt(e.Result.Value, 10)
}

// Equation says what each number is: 11 total − 8 floor = 3 may go.
func Equation(e *decision.Equation) string {
	var b strings.Builder
	for i, t := range e.Terms {
		if i > 0 {
			b.WriteString(" − ")
		}
		b.WriteString(strconv.FormatInt(t.Value, 10) + " " + t.Label)
	}
	return b.String() + " = " + e.Said()
}
