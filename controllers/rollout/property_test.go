package rollout

import (
	"fmt"
	"math"
	"math/big"
	"testing"

	"pgregory.net/rapid"
)

const limit = 1<<31 - 1

// TestSharesAgreeWithBigIntegers computes the rounding again without overflow.
func TestSharesAgreeWithBigIntegers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := rapid.Int64Range(0, limit).Draw(t, "want")
		percent := rapid.Int64Range(0, math.MaxInt64).Draw(t, "percent")
		text := &Amount{Percent: fmt.Sprintf("%d%%", percent)}
		b, err := Resolve(want, text, text)
		if err != nil {
			t.Fatal(err)
		}
		product := new(big.Int).Mul(big.NewInt(want), big.NewInt(percent))
		down, rest := new(big.Int).QuoRem(product, big.NewInt(100), new(big.Int))
		up := new(big.Int).Set(down)
		if rest.Sign() > 0 {
			up.Add(up, big.NewInt(1))
		}
		surge, unavailable := capped(up), capped(down)
		if surge == 0 && unavailable == 0 {
			unavailable = 1
		}
		if exact := capped(new(big.Int).Add(big.NewInt(want), big.NewInt(surge))); b.Ceiling() != exact {
			t.Fatalf("the ceiling of %d and %d is %d, want %d", want, surge, b.Ceiling(), exact)
		}
		if b.Surge != surge || b.Unavailable != unavailable {
			t.Fatalf("%d%% of %d is surge %d and unavailable %d, want %d and %d", percent, want, b.Surge, b.Unavailable, surge, unavailable)
		}
	})
}

func capped(n *big.Int) int64 {
	if n.Cmp(big.NewInt(limit)) > 0 {
		return limit
	}
	return n.Int64()
}

// TestHalfRoundsLikeRationals compares with exact arithmetic, halves away from zero.
func TestHalfRoundsLikeRationals(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := rapid.Int64Range(0, limit*limit).Draw(t, "a")
		b := rapid.Int64Range(1, limit).Draw(t, "b")
		twice := new(big.Int).Add(new(big.Int).Mul(big.NewInt(2), big.NewInt(a)), big.NewInt(b))
		want := twice.Div(twice, new(big.Int).Mul(big.NewInt(2), big.NewInt(b)))
		if got := half(a, b); want.Cmp(big.NewInt(got)) != 0 {
			t.Fatalf("%d / %d rounds to %d, want %s", a, b, got, want)
		}
	})
}

func drawBounds(t *rapid.T) Bounds {
	want := rapid.Int64Range(0, 60).Draw(t, "want")
	b, err := Resolve(want,
		&Amount{Int: rapid.Int64Range(0, 20).Draw(t, "surge")},
		&Amount{Int: rapid.Int64Range(0, 80).Draw(t, "unavailable")})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestNewSizeKeepsTheCeiling: growing never lifts the total above the ceiling,
// and never beyond what is wanted.
func TestNewSizeKeepsTheCeiling(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := drawBounds(t)
		size := rapid.Int64Range(0, b.Want).Draw(t, "size")
		others := rapid.Int64Range(0, 100).Draw(t, "others")
		grown := b.NewSize(size, size+others)
		switch {
		case grown < size || grown > b.Want:
			t.Fatalf("size %d becomes %d of %d", size, grown, b.Want)
		case grown > size && grown+others > b.Ceiling():
			t.Fatalf("size %d becomes %d beside %d, above %d", size, grown, others, b.Ceiling())
		}
	})
}

// TestRetiringKeepsTheFloor: whatever is removed, as many available pods stay as
// the floor asks for, where there were as many.
func TestRetiringKeepsTheFloor(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := drawBounds(t)
		set := rapid.Custom(func(t *rapid.T) Set {
			n := rapid.Int64Range(0, 30).Draw(t, "size")
			return Set{n, rapid.Int64Range(0, n+3).Draw(t, "available")}
		})
		fresh, old := set.Draw(t, "new"), rapid.SliceOfN(set, 1, 5).Draw(t, "old")
		available, total := Counted(fresh.Available, fresh.Size), fresh.Size
		for _, s := range old {
			available, total = available+Counted(s.Available, s.Size), total+s.Size
		}
		budget := b.MayGo(total, fresh.Size, Counted(fresh.Available, fresh.Size))
		sizes, a := Unhealthy(old, budget)
		if got := left(sizes, old) + Counted(fresh.Available, fresh.Size); got != available {
			t.Fatalf("removing unhealthy pods leaves %d available of %d", got, available)
		}
		sizes, n := Healthy(old, available-b.Floor())
		if got := left(sizes, old) + Counted(fresh.Available, fresh.Size); got < min(available, b.Floor()) {
			t.Fatalf("%d available left of %d, the floor is %d", got, available, b.Floor())
		}
		if a < 0 || n < 0 || a > max(0, budget) {
			t.Fatalf("%d unhealthy of budget %d and %d healthy go", a, budget, n)
		}
	})
}

// left is how many available pods stay, where unavailable ones go first.
func left(sizes []int64, old []Set) int64 {
	n := int64(0)
	for i := range sizes {
		n += min(sizes[i], Counted(old[i].Available, old[i].Size))
	}
	return n
}

// TestProportionalSharesEverything: no size is negative, and where something
// was to be shared out the sizes sum to what is allowed, unless a floor of zero
// kept more.
func TestProportionalSharesEverything(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want, surge := rapid.Int64Range(0, 200).Draw(t, "want"), rapid.Int64Range(0, 50).Draw(t, "surge")
		members := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) Member {
			return Member{rapid.Int64Range(1, 60).Draw(t, "size"), rapid.Int64Range(0, 150).Draw(t, "base")}
		}), 1, 5).Draw(t, "members")
		allowed, sum := int64(0), int64(0)
		if want > 0 {
			allowed = want + surge
		}
		for i, n := range Proportional(members, want, surge) {
			if sum += n; n < 0 {
				t.Fatalf("member %d is given %d", i, n)
			}
		}
		if sum < allowed {
			t.Fatalf("the sizes sum to %d, allowed are %d", sum, allowed)
		}
	})
}

// TestSizesFitTheAPI: no size is one that an API object cannot hold, whatever is asked for and
// whatever the annotations say.
func TestSizesFitTheAPI(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		count := rapid.OneOf(rapid.Int64Range(0, limit), rapid.Int64Range(0, 20), rapid.Int64Range(limit-20, limit))
		members := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) Member {
			return Member{count.Draw(t, "size"), count.Draw(t, "base")}
		}), 1, 5).Draw(t, "members")
		for i, n := range Proportional(members, count.Draw(t, "want"), count.Draw(t, "surge")) {
			if n < 0 || n > limit {
				t.Fatalf("member %d is given %d", i, n)
			}
		}
	})
}

// FuzzPercent: whatever is accepted means what it says, and is written so.
func FuzzPercent(f *testing.F) {
	for _, seed := range []string{"25%", "0%", "100%", "%", "", "-1%", "1.5%", "2147483647%", "2147483648%", "9223372036854775807%", "9223372036854775808%", "١٢%", "00%", "9%%"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		n, err := Percent(text)
		if err != nil {
			if n != 0 || len(err.Error()) > 200 {
				t.Fatalf("error %q comes with %d", err, n)
			}
			return
		}
		digits := text[:len(text)-1]
		exact, ok := new(big.Int).SetString(digits, 10)
		if !ok || exact.Cmp(big.NewInt(n)) != 0 {
			t.Fatalf("%q is read as %d", text, n)
		}
	})
}
