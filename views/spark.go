package views

import (
	"fmt"
	"strings"
	"time"
)

// Spark is the sizes of a Deployment over the last minutes, as steps.
type Spark struct {
	Steps []SparkPoint `json:"steps"`
	// Old and New are areas in a box of sparkWide by sparkHigh, the old on top of the new.
	Old string `json:"-"`
	New string `json:"-"`
}

// SparkPoint is the sizes from a moment on.
type SparkPoint struct {
	At  time.Time `json:"at"`
	New int64     `json:"new"`
	Old int64     `json:"old"`
}

const sparkWide, sparkHigh = 96, 20

// DrawSpark places steps in time, the first at its own moment: what came before
// it is not known and left out. most is the top of the box, 1 at least.
func DrawSpark(points []SparkPoint, from, to time.Time, most int64) *Spark {
	x := func(at time.Time) string { return pct(sparkWide * float64(at.Sub(from)) / float64(to.Sub(from))) }
	y := func(n int64) string { return pct(sparkHigh - 1 - (sparkHigh-2)*float64(n)/float64(most)) }
	area := func(size func(SparkPoint) int64) string {
		var b strings.Builder
		fmt.Fprintf(&b, "M%s %s", x(points[0].At), y(0))
		for i, p := range points {
			if i > 0 {
				fmt.Fprintf(&b, "H%s", x(p.At))
			}
			fmt.Fprintf(&b, "V%s", y(size(p)))
		}
		fmt.Fprintf(&b, "H%d V%sZ", sparkWide, y(0))
		return b.String()
	}
	return &Spark{Steps: points, New: area(func(p SparkPoint) int64 { return p.New }), Old: area(func(p SparkPoint) int64 { return p.New + p.Old })}
}
