package live

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/gorilla/websocket"

	"github.com/loopscope/loopscope/web/page"
)

// Subscribe is the only message that a page sends: what it looks at, and what
// it has of that.
type Subscribe struct {
	Page  string `json:"page"`
	After uint64 `json:"after"`
	Epoch string `json:"epoch"`
	// V is the digest of the parts as the page has them.
	V string `json:"v"`
	// Rows are the ids of the rows of a list, the first Sight of them in sight.
	Rows  []string `json:"rows"`
	Sight int      `json:"sight,omitempty"`
	// Scrolled says that the page is as the last message left it, and that only other
	// rows are in sight now.
	Scrolled bool `json:"scrolled,omitempty"`
}

// readerRows are the rows that a reader has, the first sight of them in sight.
type readerRows struct {
	ids   []string
	sight int
}

func parseSubscribe(kind int, message []byte) (*Subscribe, error) {
	if kind != websocket.TextMessage {
		return nil, malformed{"send text, not bytes"}
	}
	var sub Subscribe
	d := json.NewDecoder(strings.NewReader(string(message)))
	d.DisallowUnknownFields()
	if err := d.Decode(&sub); err != nil {
		return nil, malformed{"not a subscribe message"}
	}
	if !strings.HasPrefix(sub.Page, "/") || len(sub.Page) > 2*page.MaxQuery {
		return nil, malformed{"page must be a path of the console"}
	}
	if len(sub.Rows) > page.MaxRows {
		return nil, malformed{fmt.Sprintf("at most %d rows", page.MaxRows)}
	}
	if sub.Sight < 0 || sub.Sight > len(sub.Rows) {
		return nil, malformed{fmt.Sprintf("sight must be from 0 to %d, the number of rows", len(sub.Rows))}
	}
	return &sub, nil
}

// inSight is the reader's rows, and whether they are in sight.
func (x readerRows) inSight() map[string]bool {
	rows := make(map[string]bool, len(x.ids))
	for i, id := range x.ids {
		rows[id] = i < x.sight
	}
	return rows
}
