package parity

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// conditions of scripts:
//
//	FIELD=VALUE FIELD>=N FIELD<=N   a dotted path or a short name; a missing field is 0
//	Progressing=False/Reason        a condition of the status, with or without a reason; "none" where there is none
//	gone                            the object is not there
var comparison = regexp.MustCompile(`^([^<>=]+)(>=|<=|=)(.*)$`)

// unmet says what of the conditions does not hold on the object, nil if it is
// not there; "" if all hold.
func unmet(object *unstructured.Unstructured, conditions []string) (string, error) {
	if len(conditions) == 1 && conditions[0] == "gone" {
		if object != nil {
			return "it is still there", nil
		}
		return "", nil
	}
	if object == nil {
		return "it is not there", nil
	}
	for _, condition := range conditions {
		parts := comparison.FindStringSubmatch(condition)
		if parts == nil {
			return "", fmt.Errorf("no condition: %q", condition)
		}
		got := fieldOf(object, parts[1])
		if !holds(got, parts[2], parts[3]) {
			return fmt.Sprintf("%s is %s, not %s", parts[1], got, parts[2]+parts[3]), nil
		}
	}
	return "", nil
}

func holds(got, operator, want string) bool {
	if operator == "=" {
		return got == want || strings.HasPrefix(got, want+"/")
	}
	a, errA := strconv.Atoi(got)
	b, errB := strconv.Atoi(want)
	return errA == nil && errB == nil && (operator == ">=" && a >= b || operator == "<=" && a <= b)
}

func fieldOf(object *unstructured.Unstructured, name string) string {
	if strings.ToUpper(name[:1]) == name[:1] {
		return conditionOf(object, name)
	}
	path := strings.Split(name, ".")
	prefix, key, _ := strings.Cut(name, ":")
	switch {
	case keyed[prefix] != nil:
		path = append(append([]string{}, keyed[prefix]...), key)
	case fields[name] != "":
		path = strings.Split(fields[name], ".")
	}
	value, found, _ := unstructured.NestedFieldNoCopy(object.Object, path...)
	if !found {
		return "0"
	}
	return fmt.Sprint(value)
}

func conditionOf(object *unstructured.Unstructured, name string) string {
	list, _, _ := unstructured.NestedSlice(object.Object, "status", "conditions")
	for _, each := range list {
		if c, ok := each.(map[string]any); ok && c["type"] == name {
			return fmt.Sprintf("%v/%v", c["status"], c["reason"])
		}
	}
	return "none"
}
