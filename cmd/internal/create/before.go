package create

import (
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/cli-runtime/pkg/resource"
)

// Unread reports whether some of the objects could not be read, once Before is called.
func (r *Request) Unread() bool { return r.unread != nil }

// afterwards sends the objects once Before has seen all that could be read.
func (s *sending) afterwards(list *resource.Result) error {
	var infos []*resource.Info
	s.r.unread = list.Visit(func(info *resource.Info, err error) error {
		if err == nil {
			infos = append(infos, info)
			s.r.definitions.add(info)
		}
		return err
	})
	if err := s.r.Before(s.ctx, s.r, infos); err != nil {
		return err
	}
	failed := []error{s.r.unread}
	for _, info := range infos {
		failed = append(failed, s.visit(info, nil))
	}
	return joined(failed)
}

// joined is all errors in a flat list, as a Builder that continues has them.
func joined(list []error) error {
	all := utilerrors.NewAggregate(list)
	if all == nil {
		return nil
	}
	return utilerrors.Flatten(all)
}
