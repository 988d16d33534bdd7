package views

import (
	"math"
	"strconv"
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
	x := func(at time.Time) float64 { // To half a pixel: of the sizes within one the last is seen.
		return math.Round(2*sparkWide*float64(at.Sub(from))/float64(to.Sub(from))) / 2
	}
	y := func(n int64) float64 { return sparkHigh - 1 - (sparkHigh-2)*float64(n)/float64(most) }
	area := func(size func(SparkPoint) int64) string {
		b := append(appendPct(append(make([]byte, 0, 24+12*len(points)), 'M'), x(points[0].At)), ' ')
		b, drawn := appendPct(b, y(0)), int64(-1)
		for i, p := range points {
			if size(p) == drawn || i+1 < len(points) && x(points[i+1].At) == x(p.At) {
				continue
			}
			drawn = size(p)
			if x(p.At) > x(points[0].At) {
				b = appendPct(append(b, 'H'), x(p.At))
			}
			b = appendPct(append(b, 'V'), y(size(p)))
		}
		b = append(strconv.AppendInt(append(b, 'H'), sparkWide, 10), " V"...)
		return string(append(appendPct(b, y(0)), 'Z'))
	}
	return &Spark{Steps: points, New: area(func(p SparkPoint) int64 { return p.New }), Old: area(func(p SparkPoint) int64 { return p.New + p.Old })}
}
