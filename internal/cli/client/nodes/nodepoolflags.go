package nodes

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation"

	"kqueen.io/kqueen/api/v1alpha1"
)

// parseLabels reads labels, each as KEY=VALUE. The rules are those of Kubernetes.
func parseLabels(words []string) (map[string]string, error) {
	if len(words) == 0 {
		return nil, nil
	}
	labels := map[string]string{}
	for _, word := range words {
		key, value, ok := strings.Cut(word, "=")
		if !ok {
			return nil, fmt.Errorf("%q has to be KEY=VALUE", word)
		}
		if err := checkKeyAndValue(word, key, value); err != nil {
			return nil, err
		}
		if _, twice := labels[key]; twice {
			return nil, fmt.Errorf("%q is there twice", key)
		}
		labels[key] = value
	}
	return labels, nil
}

// parseTaints reads taints as kubectl does, each as KEY[=VALUE]:EFFECT.
func parseTaints(words []string) ([]corev1.Taint, error) {
	effects := []corev1.TaintEffect{corev1.TaintEffectNoSchedule, corev1.TaintEffectPreferNoSchedule, corev1.TaintEffectNoExecute}
	var taints []corev1.Taint
	for _, word := range words {
		// Neither a key nor a value has a colon in it.
		pair, effect, ok := strings.Cut(word, ":")
		if !ok {
			return nil, fmt.Errorf("%q has to be KEY=VALUE:EFFECT or KEY:EFFECT", word)
		}
		key, value, _ := strings.Cut(pair, "=")
		if err := checkKeyAndValue(word, key, value); err != nil {
			return nil, err
		}
		taint := corev1.Taint{Key: key, Value: value, Effect: corev1.TaintEffect(effect)}
		if !slices.Contains(effects, taint.Effect) {
			return nil, fmt.Errorf("%q: the effect %q has to be NoSchedule, PreferNoSchedule or NoExecute", word, effect)
		}
		if slices.ContainsFunc(taints, func(other corev1.Taint) bool { return taint.MatchTaint(&other) }) {
			return nil, fmt.Errorf("%q: there are two of key %s and effect %s", word, key, effect)
		}
		taints = append(taints, taint)
	}
	return taints, nil
}

// checkKeyAndValue holds both to the rules for labels, which are those for taints too.
func checkKeyAndValue(word, key, value string) error {
	if problems := validation.IsQualifiedName(key); len(problems) > 0 {
		return fmt.Errorf("%q: the key %q is not valid: %s", word, key, strings.Join(problems, "; "))
	}
	if problems := validation.IsValidLabelValue(value); len(problems) > 0 {
		return fmt.Errorf("%q: the value %q is not valid: %s", word, value, strings.Join(problems, "; "))
	}
	return nil
}

// amount is a quantity, such as 500m or 4Gi, as the value of a flag.
type amount struct{ value **resource.Quantity }

// String returns the flag's value.
func (a amount) String() string {
	if a.value == nil || *a.value == nil {
		return ""
	}
	return (*a.value).String()
}

// Type names the flag's value in help.
func (a amount) Type() string { return "quantity" }

// Set reads a quantity above 0.
func (a amount) Set(word string) error {
	quantity, err := resource.ParseQuantity(word)
	if err != nil || quantity.Sign() <= 0 {
		return fmt.Errorf("%q has to be a quantity above 0, such as 2, 500m or 4Gi", word)
	}
	*a.value = &quantity
	return nil
}

// resourcesInWords says what a machine has, or that it is not bounded.
func resourcesInWords(r *v1alpha1.MachineResources) string {
	var words []string
	if r != nil && r.CPU != nil {
		words = append(words, "cpu "+r.CPU.String())
	}
	if r != nil && r.Memory != nil {
		words = append(words, "memory "+r.Memory.String())
	}
	return strings.Join(words, ", ")
}

// quantityInWords is empty for one that is not said.
func quantityInWords(q *resource.Quantity) string {
	if q == nil {
		return ""
	}
	return q.String()
}

// period is a number of seconds, written as a duration such as 90s or 10m, as the value of a flag.
type period struct{ seconds *int32 }

// String returns the flag's value.
func (p period) String() string {
	if p.seconds == nil {
		return ""
	}
	return (time.Duration(*p.seconds) * time.Second).String()
}

// Type names the flag's value in help.
func (p period) Type() string { return "duration" }

// Set reads a duration of whole seconds that is not below 0.
func (p period) Set(word string) error {
	duration, err := time.ParseDuration(word)
	if err != nil || duration < 0 || duration%time.Second != 0 || duration > math.MaxInt32*time.Second {
		return fmt.Errorf("%q has to be a duration of whole seconds, such as 90s or 10m", word)
	}
	*p.seconds = int32(duration / time.Second)
	return nil
}

// share is a number of nodes, or a part of them in percent, as the value of a flag.
type share struct{ value *intstr.IntOrString }

// String returns the flag's value.
func (s share) String() string { return s.value.String() }

// Type names the flag's value in help.
func (s share) Type() string { return "number|percent" }

// Set reads a number, or a whole number of percent.
func (s share) Set(word string) error {
	digits, percent := strings.CutSuffix(word, "%")
	number, err := strconv.ParseUint(digits, 10, 31)
	if err != nil || (percent && number > 100) {
		return fmt.Errorf("%q has to be a number of nodes, or a percentage from 0%% to 100%%", word)
	}
	*s.value = intstr.Parse(strconv.FormatUint(number, 10) + word[len(digits):])
	return nil
}
