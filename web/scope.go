package web

import "github.com/loopscope/loopscope/views"

func (s *Server) scope(q *query, x *subject) *views.Scope { return nil }
