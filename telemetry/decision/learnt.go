package decision

// Add notes what else was found out. Later answers to the same question win.
func (l *Learnt) Add(found Learnt) {
	if found.NameTaken != nil {
		l.NameTaken = found.NameTaken
	}
	if found.Parent != "" {
		l.Parent = found.Parent
	}
	l.ChildrenGone = append(l.ChildrenGone, found.ChildrenGone...)
	l.NamespaceTerminating = l.NamespaceTerminating || found.NamespaceTerminating
	if found.Unkept != nil {
		l.Unkept = found.Unkept
	}
}
