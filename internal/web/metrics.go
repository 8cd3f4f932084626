package web

import (
	"maps"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// requestBuckets are the upper ends of the latency histogram, in seconds: an
// answer takes some microseconds, and a delayed one as long as a fault says.
var requestBuckets = []float64{
	10e-6, 25e-6, 50e-6, 100e-6, 250e-6, 500e-6, 1e-3, 2.5e-3, 5e-3, 10e-3, 50e-3, 100e-3, 500e-3, 1, 5, 30,
}

// metrics is what Prometheus reads: what is observed here, and what journal and
// faults know at the time of a scrape.
type metrics struct {
	seconds *prometheus.HistogramVec
	in, out *prometheus.CounterVec
	pages   http.Handler

	// apis finds the counters of an API without a lock and without allocating. It
	// is replaced as a whole when an API is seen for the first time, under mu.
	apis atomic.Pointer[map[string]*apiMetrics]
	mu   sync.Mutex
}

// apiMetrics are those of one API.
type apiMetrics struct {
	seconds prometheus.Observer
	in, out prometheus.Counter
}

func newMetrics(o *Options) *metrics {
	api := []string{"api"}
	m := &metrics{
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "fencepost_request_seconds", Help: "Time from a Kafka request to its answer, delays of fault rules included.",
			Buckets: requestBuckets,
		}, api),
		in:  prometheus.NewCounterVec(prometheus.CounterOpts{Name: "fencepost_request_bytes_total", Help: "Bytes of Kafka requests."}, api),
		out: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "fencepost_response_bytes_total", Help: "Bytes of answers to Kafka requests."}, api),
	}
	m.apis.Store(&map[string]*apiMetrics{})
	registry := prometheus.NewRegistry()
	registry.MustRegister(m.seconds, m.in, m.out, newCollector(o),
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	m.pages = promhttp.HandlerFor(registry, promhttp.HandlerOpts{
		ErrorLog: stdLog(o.Log), ErrorHandling: promhttp.HTTPErrorOnError,
	})
	return m
}

func (m *metrics) serve(w http.ResponseWriter, r *http.Request) error {
	m.pages.ServeHTTP(w, r)
	return nil
}

// Observe counts a Kafka request that was answered: the API's name, how long
// that took, and the bytes of the request and of its answer. It does not
// allocate, except for the first request of an API.
func (s *Server) Observe(api string, took time.Duration, in, out int) {
	m := s.metrics.of(api)
	m.seconds.Observe(took.Seconds())
	m.in.Add(float64(in))
	m.out.Add(float64(out))
}

// of finds the counters of an API.
func (m *metrics) of(api string) *apiMetrics {
	if known := (*m.apis.Load())[api]; known != nil {
		return known
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	more := maps.Clone(*m.apis.Load())
	if more[api] == nil {
		more[api] = &apiMetrics{
			seconds: m.seconds.WithLabelValues(api), in: m.in.WithLabelValues(api), out: m.out.WithLabelValues(api),
		}
		m.apis.Store(&more)
	}
	return more[api]
}
