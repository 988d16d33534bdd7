module github.com/loopscope/loopscope/telemetry/otlp/collectortest

go 1.26.0

require (
	github.com/loopscope/loopscope v0.0.0
	go.opentelemetry.io/collector/component/componenttest v0.154.0
	go.opentelemetry.io/collector/confmap v1.60.0
	go.opentelemetry.io/collector/consumer/consumertest v0.154.0
	go.opentelemetry.io/collector/pdata v1.60.0
	go.opentelemetry.io/collector/receiver/otlpreceiver v0.154.0
	go.opentelemetry.io/collector/receiver/receivertest v0.154.0
	golang.org/x/tools v0.52.0
)

require (
	github.com/Microsoft/go-winio v0.6.2 // indirect
	github.com/cenkalti/backoff/v5 v5.0.3 // indirect
	github.com/cespare/xxhash/v2 v2.3.0 // indirect
	github.com/davecgh/go-spew v1.1.2-0.20180830191138-d8f796af33cc // indirect
	github.com/felixge/httpsnoop v1.0.4 // indirect
	github.com/foxboron/go-tpm-keyfiles v0.0.0-20251226215517-609e4778396f // indirect
	github.com/fsnotify/fsnotify v1.10.1 // indirect
	github.com/go-logr/logr v1.4.3 // indirect
	github.com/go-logr/stdr v1.2.2 // indirect
	github.com/go-viper/mapstructure/v2 v2.5.0 // indirect
	github.com/gobwas/glob v0.2.3 // indirect
	github.com/golang/snappy v1.0.0 // indirect
	github.com/google/go-tpm v0.9.8 // indirect
	github.com/google/uuid v1.6.0 // indirect
	github.com/grpc-ecosystem/grpc-gateway/v2 v2.27.7 // indirect
	github.com/hashicorp/go-version v1.9.0 // indirect
	github.com/json-iterator/go v1.1.12 // indirect
	github.com/klauspost/compress v1.20.3 // indirect
	github.com/knadh/koanf/maps v0.1.2 // indirect
	github.com/knadh/koanf/providers/confmap v1.0.0 // indirect
	github.com/knadh/koanf/v2 v2.3.5 // indirect
	github.com/mitchellh/copystructure v1.2.0 // indirect
	github.com/mitchellh/reflectwalk v1.0.2 // indirect
	github.com/modern-go/concurrent v0.0.0-20180306012644-bacd9c7ef1dd // indirect
	github.com/modern-go/reflect2 v1.0.3-0.20250322232337-35a7c28c31ee // indirect
	github.com/pierrec/lz4/v4 v4.1.27 // indirect
	github.com/pmezard/go-difflib v1.0.1-0.20181226105442-5d4384ee4fb2 // indirect
	github.com/rs/cors v1.11.1 // indirect
	github.com/stretchr/testify v1.11.1 // indirect
	go.opentelemetry.io/auto/sdk v1.2.1 // indirect
	go.opentelemetry.io/collector v0.154.0 // indirect
	go.opentelemetry.io/collector/client v1.60.0 // indirect
	go.opentelemetry.io/collector/component v1.60.0 // indirect
	go.opentelemetry.io/collector/component/componentstatus v0.154.0 // indirect
	go.opentelemetry.io/collector/config/configauth v1.60.0 // indirect
	go.opentelemetry.io/collector/config/configcompression v1.60.0 // indirect
	go.opentelemetry.io/collector/config/configgrpc v0.154.0 // indirect
	go.opentelemetry.io/collector/config/confighttp v0.154.0 // indirect
	go.opentelemetry.io/collector/config/configmiddleware v1.60.0 // indirect
	go.opentelemetry.io/collector/config/confignet v1.60.0 // indirect
	go.opentelemetry.io/collector/config/configopaque v1.60.0 // indirect
	go.opentelemetry.io/collector/config/configoptional v1.60.0 // indirect
	go.opentelemetry.io/collector/config/configtls v1.60.0 // indirect
	go.opentelemetry.io/collector/confmap/xconfmap v0.154.0 // indirect
	go.opentelemetry.io/collector/consumer v1.60.0 // indirect
	go.opentelemetry.io/collector/consumer/consumererror v0.154.0 // indirect
	go.opentelemetry.io/collector/consumer/xconsumer v0.154.0 // indirect
	go.opentelemetry.io/collector/extension/extensionauth v1.60.0 // indirect
	go.opentelemetry.io/collector/extension/extensionmiddleware v0.154.0 // indirect
	go.opentelemetry.io/collector/featuregate v1.60.0 // indirect
	go.opentelemetry.io/collector/internal/componentalias v0.154.0 // indirect
	go.opentelemetry.io/collector/internal/sharedcomponent v0.154.0 // indirect
	go.opentelemetry.io/collector/internal/telemetry v0.154.0 // indirect
	go.opentelemetry.io/collector/pdata/pprofile v0.154.0 // indirect
	go.opentelemetry.io/collector/pipeline v1.60.0 // indirect
	go.opentelemetry.io/collector/pipeline/xpipeline v0.154.0 // indirect
	go.opentelemetry.io/collector/receiver v1.60.0 // indirect
	go.opentelemetry.io/collector/receiver/receiverhelper v0.154.0 // indirect
	go.opentelemetry.io/collector/receiver/xreceiver v0.154.0 // indirect
	go.opentelemetry.io/contrib/instrumentation/google.golang.org/grpc/otelgrpc v0.69.0 // indirect
	go.opentelemetry.io/contrib/instrumentation/net/http/otelhttp v0.69.0 // indirect
	go.opentelemetry.io/otel v1.44.0 // indirect
	go.opentelemetry.io/otel/exporters/otlp/otlptrace v1.40.0 // indirect
	go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc v1.40.0 // indirect
	go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp v1.40.0 // indirect
	go.opentelemetry.io/otel/metric v1.44.0 // indirect
	go.opentelemetry.io/otel/sdk v1.44.0 // indirect
	go.opentelemetry.io/otel/sdk/metric v1.44.0 // indirect
	go.opentelemetry.io/otel/trace v1.44.0 // indirect
	go.opentelemetry.io/proto/otlp v1.9.0 // indirect
	go.uber.org/multierr v1.11.0 // indirect
	go.uber.org/zap v1.28.0 // indirect
	go.yaml.in/yaml/v3 v3.0.5 // indirect
	golang.org/x/crypto v0.58.0 // indirect
	golang.org/x/net v0.62.0 // indirect
	golang.org/x/sys v0.49.0 // indirect
	golang.org/x/text v0.43.0 // indirect
	google.golang.org/genproto/googleapis/api v0.0.0-20260226221140-a57be14db171 // indirect
	google.golang.org/genproto/googleapis/rpc v0.0.0-20260526163538-3dc84a4a5aaa // indirect
	google.golang.org/grpc v1.81.1 // indirect
	google.golang.org/protobuf v1.36.12 // indirect
	gopkg.in/yaml.v3 v3.0.1 // indirect
)

replace github.com/loopscope/loopscope => ../../..
