package views

import (
	"context"
	"io"

	"github.com/a-h/templ"
)

// headline is the tone with its lead and full stop. It is written by hand
// because no space may stand before the colon.
func headline(h Head) templ.Component {
	return templ.ComponentFunc(func(ctx context.Context, w io.Writer) error {
		if err := Marked(h.State).Render(ctx, w); err != nil {
			return err
		}
		if len(h.Lead) > 0 {
			if _, err := io.WriteString(w, ": "); err != nil {
				return err
			}
			if err := Words(h.Lead).Render(ctx, w); err != nil {
				return err
			}
		}
		_, err := io.WriteString(w, ".")
		return err
	})
}
