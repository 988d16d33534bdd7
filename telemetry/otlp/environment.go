package otlp

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strconv"
	"strings"

	"golang.org/x/net/http/httpguts"
)

// The protocols, as OTEL_EXPORTER_OTLP_PROTOCOL names them.
const (
	protocolHTTP = "http/protobuf"
	protocolGRPC = "grpc"
)

const exporterPrefix = "OTEL_EXPORTER_OTLP_"

// environment is the protocol to export by, "" where nothing is to be exported,
// and an error for the first variable whose value nobody could take.
func environment() (protocol string, err error) {
	off, err := truth("OTEL_SDK_DISABLED")
	switch exporter := value("OTEL_TRACES_EXPORTER"); {
	case err != nil:
		return "", err
	case off || exporter == "none" || either("ENDPOINT") == "":
		return "", nil
	case exporter != "" && exporter != "otlp":
		return "", wrong("OTEL_TRACES_EXPORTER", exporter, "otlp or none")
	}
	if protocol = either("PROTOCOL"); protocol == "" {
		protocol = protocolHTTP
	}
	return protocol, errors.Join(exporterSettings(), sdkSettings())
}

// value is a variable; empty is as good as unset.
func value(name string) string { return strings.TrimSpace(os.Getenv(name)) }

// either is an exporter's setting, of which that for traces alone wins.
func either(name string) string {
	if v := value(exporterPrefix + "TRACES_" + name); v != "" {
		return v
	}
	return value(exporterPrefix + name)
}

func wrong(name, value, want string) error {
	return fmt.Errorf("opentelemetry: %s is %q: give %s", name, value, want)
}

// exporterSettings checks what the exporters read.
func exporterSettings() error {
	var errs []error
	for _, of := range []string{exporterPrefix, exporterPrefix + "TRACES_"} {
		_, insecure := truth(of + "INSECURE")
		errs = append(errs,
			endpoint(of+"ENDPOINT"), headers(of+"HEADERS"), insecure,
			number(of+"TIMEOUT", 0), word(of+"COMPRESSION", "none", "gzip"), word(of+"PROTOCOL", protocolHTTP, protocolGRPC),
			certificates(of+"CERTIFICATE"), keyPair(of+"CLIENT_CERTIFICATE", of+"CLIENT_KEY"),
		)
	}
	return errors.Join(errs...)
}

// sdkSettings checks what the SDK reads.
func sdkSettings() error {
	errs := []error{
		number("OTEL_BSP_SCHEDULE_DELAY", 1), number("OTEL_BSP_EXPORT_TIMEOUT", 0),
		number("OTEL_BSP_MAX_QUEUE_SIZE", 1), number("OTEL_BSP_MAX_EXPORT_BATCH_SIZE", 1),
		sampler(),
	}
	for _, limit := range []string{
		"ATTRIBUTE_VALUE_LENGTH", "ATTRIBUTE_COUNT", "SPAN_ATTRIBUTE_VALUE_LENGTH", "SPAN_ATTRIBUTE_COUNT",
		"SPAN_EVENT_COUNT", "SPAN_LINK_COUNT", "EVENT_ATTRIBUTE_COUNT", "LINK_ATTRIBUTE_COUNT",
	} {
		errs = append(errs, number("OTEL_"+limit+"_LIMIT", -1))
	}
	return errors.Join(errs...)
}

func truth(name string) (bool, error) {
	switch v := value(name); strings.ToLower(v) {
	case "true":
		return true, nil
	case "", "false":
		return false, nil
	default:
		return false, wrong(name, v, "true or false")
	}
}

func word(name string, words ...string) error {
	v := value(name)
	for _, w := range append(words, "") {
		if v == w {
			return nil
		}
	}
	return wrong(name, v, strings.Join(words, " or "))
}

func number(name string, least int) error {
	v := value(name)
	if v == "" {
		return nil
	}
	if n, err := strconv.Atoi(v); err != nil || n < least {
		return wrong(name, v, fmt.Sprintf("a whole number of at least %d", least))
	}
	return nil
}

func endpoint(name string) error {
	v := value(name)
	if v == "" {
		return nil
	}
	u, err := url.Parse(v)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return fmt.Errorf("opentelemetry: %s is not a URL: give one such as http://localhost:4318 (4317 for grpc)", name)
	}
	return nil
}

// headers checks key=value pairs. Values are secrets and not repeated.
func headers(name string) error {
	v := value(name)
	if v == "" {
		return nil
	}
	for i, pair := range strings.Split(v, ",") {
		key, text, found := strings.Cut(pair, "=")
		text, err := url.PathUnescape(text)
		if !found || err != nil || !httpguts.ValidHeaderFieldName(strings.TrimSpace(key)) || !httpguts.ValidHeaderFieldValue(text) {
			return fmt.Errorf("opentelemetry: %s: part %d is not a header: give key=value,key=value with values percent-encoded", name, i+1)
		}
	}
	return nil
}

func certificates(name string) error {
	path := value(name)
	if path == "" {
		return nil
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("opentelemetry: %s: %w", name, err)
	}
	if !x509.NewCertPool().AppendCertsFromPEM(text) {
		return fmt.Errorf("opentelemetry: %s: %s holds no certificate in PEM form", name, path)
	}
	return nil
}

func keyPair(certificate, key string) error {
	switch cert, secret := value(certificate), value(key); {
	case cert == "" && secret == "":
		return nil
	case cert == "" || secret == "":
		return fmt.Errorf("opentelemetry: %s and %s: give both or neither", certificate, key)
	default:
		if _, err := tls.LoadX509KeyPair(cert, secret); err != nil {
			return fmt.Errorf("opentelemetry: %s and %s: %w", certificate, key, err)
		}
		return nil
	}
}

func sampler() error {
	const name, arg = "OTEL_TRACES_SAMPLER", "OTEL_TRACES_SAMPLER_ARG"
	switch v := strings.ToLower(value(name)); v {
	case "", "always_on", "always_off", "parentbased_always_on", "parentbased_always_off":
		return nil
	case "traceidratio", "parentbased_traceidratio":
		ratio := value(arg)
		if f, err := strconv.ParseFloat(ratio, 64); ratio != "" && (err != nil || !(f >= 0 && f <= 1)) {
			return wrong(arg, ratio, "a number from 0 to 1")
		}
		return nil
	default:
		return wrong(name, v, "always_on, always_off or traceidratio, or one of these with parentbased_ before it")
	}
}
