package main

import (
	"fmt"
	"strings"
	"time"
	"unicode"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	componentconfig "k8s.io/component-base/config"
	configvalidation "k8s.io/component-base/config/validation"

	"github.com/loopscope/loopscope/cmd/internal/app"
)

// leaderElection is what it is unless flags say something else.
func leaderElection() componentconfig.LeaderElectionConfiguration {
	o := app.DefaultElection()
	return componentconfig.LeaderElectionConfiguration{
		LeaderElect: o.Elect, ResourceLock: resourcelock.LeasesResourceLock, ResourceNamespace: o.Namespace, ResourceName: o.Name,
		LeaseDuration: metav1.Duration{Duration: o.LeaseDuration}, RenewDeadline: metav1.Duration{Duration: o.RenewDeadline}, RetryPeriod: metav1.Duration{Duration: o.RetryPeriod},
	}
}

// electionUsage says what the flags of the leader election are for.
var electionUsage = map[string]string{
	"leader-elect":                    "take part in the election of the manager that acts; the others stand by with their consoles",
	"leader-elect-lease-duration":     "time after which a Lease that is not renewed may be taken by another manager",
	"leader-elect-renew-deadline":     "time within which the leader has to renew its Lease, or else stands by again; less than the lease duration",
	"leader-elect-retry-period":       "time between two tries to take or renew the Lease, the former up to 2.2 times as long",
	"leader-elect-resource-lock":      "kind of the lock; leases is the only one",
	"leader-elect-resource-name":      "name of the Lease; managers of different controllers need different ones",
	"leader-elect-resource-namespace": "namespace of the Lease",
}

// electionFlag is the flag of a field of the configuration.
func electionFlag(field string) string {
	var flag strings.Builder
	flag.WriteString("--leader-elect-")
	for _, r := range field {
		if r < 'a' {
			flag.WriteByte('-')
		}
		flag.WriteRune(unicode.ToLower(r))
	}
	return flag.String()
}

// electionErrors are what is wrong with the flags of the leader election, by their names [M-2].
func electionErrors(c componentconfig.LeaderElectionConfiguration) (errs []error) {
	c.LeaderElect = true // Who waits for a Lease needs the same of it.
	for _, err := range configvalidation.ValidateLeaderElectionConfiguration(&c, nil) {
		text := "must not be empty"
		if err.Type == field.ErrorTypeInvalid {
			text = strings.ReplaceAll(err.Detail, "`RenewDeadline`", electionFlag("renewDeadline"))
		}
		errs = append(errs, fmt.Errorf("%s: %s", electionFlag(err.Field), text))
	}
	if least := time.Duration(leaderelection.JitterFactor * float64(c.RetryPeriod.Duration)); c.RenewDeadline.Duration > 0 && c.RenewDeadline.Duration <= least {
		errs = append(errs, fmt.Errorf("%s: must be more than %s, which is %v times %s", electionFlag("renewDeadline"), least, leaderelection.JitterFactor, electionFlag("retryPeriod")))
	}
	for field, name := range map[string]string{"resourceName": c.ResourceName, "resourceNamespace": c.ResourceNamespace} {
		if wrong := validation.IsDNS1123Subdomain(name); name != "" && len(wrong) > 0 {
			errs = append(errs, fmt.Errorf("%s: %q is not the name of an object: %s", electionFlag(field), name, wrong[0]))
		}
	}
	return errs
}

// election is the part that this process takes in it.
func (o *managerOptions) election(c componentconfig.LeaderElectionConfiguration) app.Election {
	if o.reckless {
		return app.Election{}
	}
	return app.Election{
		Namespace: c.ResourceNamespace, Name: c.ResourceName, Elect: c.LeaderElect, EndWhenLost: o.endWhenLost,
		LeaseDuration: c.LeaseDuration.Duration, RenewDeadline: c.RenewDeadline.Duration, RetryPeriod: c.RetryPeriod.Duration,
	}
}
