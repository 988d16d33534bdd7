// Package english keeps kubectl from loading its English messages, which are those that it has
// already: that takes every process of the sandbox, a component as well, a seventh of its start.
// Other languages are loaded as before.
//
// It has to be initialized before any of kubectl's commands. Go initializes packages in the order
// of their paths as soon as all that they import is ready, and this one imports nothing but what
// loads the messages.
package english

import (
	"cmp"
	"os"
	"strings"

	"k8s.io/kubectl/pkg/util/i18n"
)

func init() {
	if err := i18n.SetLoadTranslationsFunc(load); err != nil {
		panic(err) // another package came first
	}
}

func load() error {
	if isEnglish(cmp.Or(os.Getenv("LC_ALL"), os.Getenv("LC_MESSAGES"), os.Getenv("LANG"))) {
		return nil
	}
	return i18n.LoadTranslations("kubectl", nil)
}

// isEnglish reports whether a locale such as en_US.UTF-8 asks for English, as none does.
func isEnglish(locale string) bool {
	language, _, _ := strings.Cut(locale, ".")
	return language == "" || language == "C" || language == "POSIX" || strings.HasPrefix(language, "en")
}
