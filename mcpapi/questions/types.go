package questions

// Kinds of questions: a call that needs consent, one that needs the value of a secret, and the kinds of term.Prompt.
const (
	KindConsent    = "consent"
	KindSecret     = "secret"
	KindHostKey    = "host_key"
	KindPassword   = "password"
	KindPassphrase = "passphrase"
	KindChallenge  = "challenge"
)

// Forms of answers.
const (
	AnswerYesNo  = "yes_no" // Answer.Yes
	AnswerText   = "text"   // Answer.Text, which may be shown while it is typed
	AnswerSecret = "secret" // Answer.Text, which must not be shown, logged or kept
)

// Modes of a process: the rights of people at its socket.
const (
	ModeReadOnly  = "readonly"
	ModeReadWrite = "readwrite"
)

// A Question waits for a person. Texts of callers and hosts are safe to show as text, and must be shown as that.
type Question struct {
	ID      string `json:"question_id"` // which no other question ever has
	Kind    string `json:"kind"`
	Form    string `json:"answer"` // the form of answer that it takes
	Since   int64  `json:"since"`  // Unix milliseconds
	Expires int64  `json:"expires"`

	SessionID string `json:"session_id,omitempty"` // empty: a call that names a host, or starts a program
	Protocol  string `json:"protocol,omitempty"`
	Host      string `json:"host,omitempty"` // of a login: the host that asks, which may be a hop
	User      string `json:"user,omitempty"`

	Asker Asker `json:"asker"` // for a consent: the caller; for a login: the opener of the session

	// Text is, of a consent, the whole command as it will run or the text to type, with line feeds for the returns that
	// enter its lines; of a login, the question in the words of the host.
	Text string `json:"text"`

	Secret string `json:"secret,omitempty"` // name of the operator's secret to use, or of the one that needs a value

	// Of a consent, and of a call that needs a value:
	Action string   `json:"action,omitempty"`   // exec or write; of a secret: terminal, stdin or login
	Rule   string   `json:"rule,omitempty"`     // that asks
	Typed  bool     `json:"typed,omitempty"`    // Text is typed into the terminal
	Dir    string   `json:"work_dir,omitempty"` // in which it runs
	Env    []string `json:"env,omitempty"`      // NAME=value
	// Lasting says that who agrees to the use of a secret agrees to later ones of the caller in the session, or at the host
	// if there is no session yet.
	Lasting bool `json:"lasting,omitempty"`
	Waits   bool `json:"waits,omitempty"` // a call waits for the answer now; else it applies to the same call made again

	// Of a login:
	Hop   int `json:"hop,omitempty"`
	Index int `json:"index,omitempty"` // of the questions in its round, from 1
	Of    int `json:"of,omitempty"`
}

// An Asker is the caller that a question is asked for. Client, Version and Task are the client's own claims.
type Asker struct {
	Transport string `json:"transport,omitempty"`
	Client    string `json:"client,omitempty"`
	Version   string `json:"version,omitempty"`
	Token     string `json:"token,omitempty"` // name of the bearer token
	Shim      string `json:"shim,omitempty"`  // conversation of a daemon
	Task      string `json:"task_id,omitempty"`
}

// A List is all questions that wait, the oldest first.
type List struct {
	Version   string     `json:"version"` // changes with the list
	Mode      string     `json:"mode"`    // of the process; in readonly Answer is refused
	Questions []Question `json:"questions"`
}

// An Answer answers one question. It has exactly one of Yes, Text and Decline.
type Answer struct {
	ID      string  `json:"question_id"`
	Yes     *bool   `json:"yes,omitempty"`     // to a consent or a host key
	Text    *string `json:"text,omitempty"`    // to another question of a login; a secret's value
	Decline bool    `json:"decline,omitempty"` // ends the login; a call is denied
}

// A Watch is the answer to a process that asks to watch this one on behalf of a person.
type Watch struct {
	Mode    string `json:"mode"`
	PID     int    `json:"pid"`
	Version string `json:"version"`
}

// A Failure is the answer to a request that was refused.
type Failure struct {
	Code      string `json:"error_code"`
	Message   string `json:"message"`
	Retryable bool   `json:"retryable"`
}
