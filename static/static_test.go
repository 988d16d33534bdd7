package static

import (
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

var (
	colour = regexp.MustCompile(`#[0-9a-fA-F]{3,8}\b`)
)

// tokens reads the colours of one theme, 0 for light and 1 for dark.
func tokens(t *testing.T, theme int) map[string][3]float64 {
	t.Helper()
	found := map[string][3]float64{}
	for _, m := range token.FindAllStringSubmatch(string(consoleCSS), -1) {
		n, err := strconv.ParseUint(m[2+theme], 16, 32)
		if err != nil {
			t.Fatal(err)
		}
		found[m[1]] = [3]float64{float64(n>>16&255) / 255, float64(n>>8&255) / 255, float64(n&255) / 255}
	}
	if len(found) != 12 {
		t.Fatalf("found %d tokens, want 12", len(found))
	}
	return found
}

func luminance(c [3]float64) float64 {
	l := 0.0
	for i, weight := range []float64{0.2126, 0.7152, 0.0722} {
		v := c[i]
		if v <= 0.04045 {
			v /= 12.92
		} else {
			v = math.Pow((v+0.055)/1.055, 2.4)
		}
		l += weight * v
	}
	return l
}

func contrast(a, b [3]float64) float64 {
	x, y := luminance(a), luminance(b)
	return (max(x, y) + 0.05) / (min(x, y) + 0.05)
}

// mix is color-mix(in srgb, a share, b).
func mix(a, b [3]float64, share float64) [3]float64 {
	var c [3]float64
	for i := range c {
		c[i] = a[i]*share + b[i]*(1-share)
	}
	return c
}

// TestContrast checks every pair that is used, in SVG too, where no tool looks.
func TestContrast(t *testing.T) {
	for theme, name := range []string{"light", "dark"} {
		c := tokens(t, theme)
		for _, ground := range []string{"bg", "up", "dn"} {
			for _, text := range []string{"ink", "mid", "dim", "move", "ok", "wait", "fail"} {
				if got := contrast(c[text], c[ground]); got < 4.5 {
					t.Errorf("%s: %s on %s has %.2f, text needs 4.5", name, text, ground, got)
				}
			}
		}
		marks := map[string][2][3]float64{
			"line of new on its fill":   {c["move"], mix(c["move"], c["bg"], .2)},
			"available on new":          {c["ink"], mix(c["move"], c["bg"], .2)},
			"available on old":          {c["ink"], mix(c["ink"], c["bg"], .09)},
			"limit on the plot":         {c["dim"], c["up"]},
			"limit on old":              {c["dim"], mix(c["ink"], c["bg"], .09)},
			"limit on new":              {c["dim"], mix(c["move"], c["bg"], .2)},
			"deadline on the plot":      {c["fail"], c["up"]},
			"lid of a held span":        {c["wait"], c["up"]},
			"meter, new on its ground":  {c["ok"], c["line"]},
			"meter, old on its ground":  {c["dim"], c["line"]},
			"meter, not on its ground":  {c["wait"], c["line"]},
			"meter, fail on its ground": {c["fail"], c["line"]},
			"phase on the page":         {c["dim"], c["bg"]},
		}
		for what, pair := range marks {
			if got := contrast(pair[0], pair[1]); got < 3 {
				t.Errorf("%s: %s has %.2f, marks need 3", name, what, got)
			}
		}
		for _, tone := range []string{"move", "ok", "wait", "fail"} {
			if got := contrast(c["ink"], mix(c[tone], c["bg"], .08)); got < 4.5 {
				t.Errorf("%s: text of a notice in %s has %.2f", name, tone, got)
			}
		}
	}
}

// TestColoursAreTokens keeps colours out of the rules.
func TestColoursAreTokens(t *testing.T) {
	_, rules, _ := strings.Cut(string(consoleCSS), "--xs:")
	if found := colour.FindAllString(rules, -1); len(found) > 0 {
		t.Errorf("colours outside the tokens: %v", found)
	}
	if strings.Contains(rules, "rgb(") || strings.Contains(rules, "hsl(") {
		t.Error("a colour is written as rgb or hsl")
	}
}

func TestNamesCarryTheirContent(t *testing.T) {
	for name, f := range files {
		if !regexp.MustCompile(`^[a-z]+\.[0-9a-f]{10}\.[a-z]+$`).MatchString(name) || f.Path != Prefix+name {
			t.Errorf("%s is served as %s", name, f.Path)
		}
		if changed := load("console.css", "", append([]byte("x"), f.Body...)); changed.Path == f.Path {
			t.Errorf("%s keeps its name when it changes", name)
		}
	}
	if _, ok := Find("../static.go"); ok {
		t.Error("a path was found")
	}
}

// TestFlowStyleStandsAlone: the style of a file needs no other, in both themes.
func TestFlowStyleStandsAlone(t *testing.T) {
	style := FlowStyle()
	if strings.Contains(style, "var(") || strings.ContainsAny(style, "<&") || !strings.Contains(style, "@media(prefers-color-scheme:dark){") {
		t.Errorf("the style is\n%s", style)
	}
	if light, dark, _ := strings.Cut(style, "@media(prefers"); !strings.Contains(light, "background:#fbfbf9") || !strings.Contains(dark, "background:#101214") {
		t.Errorf("the grounds are not those of the console:\n%s", style)
	}
}
