package views

import "time"

// Frame is what surrounds every page.
type Frame struct {
	Title string
	// Tab is the current entry of the main navigation: "queues", the address of a list, or none.
	Tab string
	// Lists are those of the objects, one for each kind, the front page first. There is one at least.
	Lists []Link
	// Asks is set where there are questions to list, Sizes where there are sizes to compare
	// with another controller's.
	Asks, Sizes bool
	Assets      Assets
	// Mode says what this program is to the cluster, Cluster which one it is.
	Mode    Text
	Cluster string
	Window  Window
	Notice  *Notice
	Crumbs  []Link
	// About is what stands beside the crumbs: revision, strategy.
	About []Text
	// Up is the page above this one, Twin this page as JSON.
	Up, Twin string
	Live     Live
	Keys     []Key
	Rules    string
}

// Assets are the addresses of the static files.
type Assets struct{ Style, Script, Theme, Icon string }

// Window is what the numbers of a page cover.
type Window struct {
	Syncs uint64    `json:"syncs"`
	Since time.Time `json:"since"`
	// InAll is set where these are not only the syncs that the reader may see.
	InAll bool `json:"inAll,omitempty"`
}

// Live is what the script needs to keep the page up to date. A page without
// Page is not kept up to date.
type Live struct {
	Page  string
	Epoch string
	Seq   uint64
	// Version is a digest of the live parts as they were rendered.
	Version string
	Now     time.Time
	// Still is set where the clocks of the page stand.
	Still bool
}

// Notice is one line under the header. There is at most one.
type Notice struct {
	Tone  Tone   `json:"tone"`
	Title string `json:"title"`
	Text  Text   `json:"text"`
}

// Link is a place within the console.
type Link struct {
	Text string `json:"text"`
	Href string `json:"href,omitempty"`
}

// Key is a key of the page and what it does.
type Key struct{ Keys, Does string }

// keys are those of the page that lead somewhere here.
func (f Frame) keys() []Key {
	var list []Key
	for _, k := range f.Keys {
		switch {
		case k.Keys == "g a" && !f.Asks, k.Keys == "g s" && !f.Sizes:
			continue
		case k.Keys == "g d":
			k.Does = f.Lists[0].Text
		}
		list = append(list, k)
	}
	return list
}

// Problem is a page that cannot be shown: what is so, what still works, one next step.
type Problem struct {
	Status  int    `json:"status"`
	Code    string `json:"code"`
	Heading string `json:"heading"`
	Lines   []Text `json:"lines,omitempty"`
	Try     string `json:"try,omitempty"`
	Links   []Link `json:"links,omitempty"`
}

// all says that the syncs are those of all objects.
func (w Window) all() string {
	if w.InAll {
		return " in all"
	}
	return ""
}
