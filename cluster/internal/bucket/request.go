package bucket

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/textproto"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// Write returns a message that writes a key if its last write has that revision; 0: if it has none. Without data it
// deletes the key.
func (b *Bucket) Write(key string, data []byte, revision uint64) *nats.Msg {
	m := nats.NewMsg(b.subject(key))
	m.Header.Set("Nats-Expected-Last-Subject-Sequence", strconv.FormatUint(revision, 10))
	if m.Data = data; data == nil {
		m.Header.Set("KV-Operation", "DEL")
	}
	return m
}

// subject returns where a key is written.
func (b *Bucket) subject(key string) string { return "$KV." + b.name + "." + key }

// WithTTL has the servers remove the value that m writes after that time, in whole seconds.
func WithTTL(m *nats.Msg, ttl time.Duration) *nats.Msg {
	m.Header.Set(jetstream.MsgTTLHeader, ttl.Truncate(time.Second).String())
	return m
}

// Put sends a write and waits for its confirmation, which has the revision.
func (b *Bucket) Put(ctx context.Context, m *nats.Msg) (revision uint64, err error) {
	ctx, cancel := context.WithTimeout(ctx, b.attempt)
	defer cancel()
	answer, err := b.nc.RequestMsgWithContext(ctx, m)
	if err != nil {
		return 0, err
	}
	return Confirmed(answer.Data)
}

// Confirmed reads the answer to a write.
func Confirmed(data []byte) (revision uint64, err error) {
	var answer struct {
		Error *jetstream.APIError `json:"error"`
		Seq   uint64              `json:"seq"`
	}
	switch err := json.Unmarshal(data, &answer); {
	case err != nil:
		return 0, fmt.Errorf("an answer that cannot be read: %w", err)
	case answer.Error != nil:
		return 0, answer.Error
	case answer.Seq == 0:
		return 0, errors.New("an answer without a revision")
	}
	return answer.Seq, nil
}

// ask sends a request to JetStream's API.
func (b *Bucket) ask(ctx context.Context, m *nats.Msg) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, b.attempt)
	defer cancel()
	answer, err := b.nc.RequestMsgWithContext(ctx, m)
	if err != nil {
		return nil, err
	}
	return answer.Data, nil
}

// decode reads an answer of JetStream's API.
func decode(data []byte, answer any) error {
	var failed struct {
		Error *jetstream.APIError `json:"error"`
	}
	if err := json.Unmarshal(data, &failed); err != nil {
		return fmt.Errorf("an answer that cannot be read: %w", err)
	}
	if failed.Error != nil {
		return failed.Error
	}
	return json.Unmarshal(data, answer)
}

// An Entry is the last write of a key; zero: the key has no write.
type Entry struct {
	Data     []byte
	Marker   bool      // the write says that the key was deleted or has expired
	Expired  bool      // it has expired
	Revision uint64    // also of a marker
	Time     time.Time // of the write, by the clock of the server that led the stream
}

// Held reports whether the key has a value.
func (e Entry) Held() bool { return e.Revision != 0 && !e.Marker }

// ReadRequest returns the request for the last write of a key, which the leader of the stream answers.
func (b *Bucket) ReadRequest(key string) *nats.Msg {
	body, err := json.Marshal(struct {
		Subject string `json:"last_by_subj"`
	}{b.subject(key)})
	if err != nil { // a string is always encoded
		panic(err)
	}
	return &nats.Msg{Subject: "$JS.API.STREAM.MSG.GET.KV_" + b.name, Data: body}
}

// Answered reads the answer to a ReadRequest.
func Answered(data []byte) (Entry, error) {
	var stored struct {
		Message struct {
			Seq    uint64    `json:"seq"`
			Header string    `json:"hdrs"` // base64
			Data   []byte    `json:"data"`
			Time   time.Time `json:"time"`
		} `json:"message"`
	}
	switch err := decode(data, &stored); {
	case CodeOf(err) == jetstream.JSErrCodeMessageNotFound:
		return Entry{}, nil
	case err != nil:
		return Entry{}, err
	}
	header, err := base64.StdEncoding.DecodeString(stored.Message.Header)
	if err != nil {
		return Entry{}, fmt.Errorf("an answer that cannot be read: %w", err)
	}
	e := Entry{Data: stored.Message.Data, Revision: stored.Message.Seq, Time: stored.Message.Time}
	// Without its first line, the version, it is a header of MIME. Names keep their case in NATS.
	for line := range strings.SplitSeq(string(header), "\r\n") {
		name, _, _ := strings.Cut(line, ":")
		switch textproto.CanonicalMIMEHeaderKey(name) {
		case "Kv-Operation":
			e.Marker = true
		case "Nats-Marker-Reason":
			e.Marker, e.Expired = true, true
		}
	}
	return e, nil
}

// Read returns the last write of a key, as the leader of the stream has it.
func (b *Bucket) Read(ctx context.Context, key string) (Entry, error) {
	data, err := b.ask(ctx, b.ReadRequest(key))
	if err != nil {
		return Entry{}, err
	}
	return Answered(data)
}

// info returns the state of the stream, as its leader reports it.
func (b *Bucket) info(ctx context.Context) (info jetstream.StreamInfo, err error) {
	data, err := b.ask(ctx, &nats.Msg{Subject: "$JS.API.STREAM.INFO.KV_" + b.name})
	if err != nil {
		return info, err
	}
	return info, decode(data, &info)
}

// Now returns the time by the clock of the server that leads the stream.
func (b *Bucket) Now(ctx context.Context) (time.Time, error) {
	info, err := b.info(ctx)
	return info.TimeStamp, err
}
