package term

// A Reason is the cause of a refusal or failure, in more detail than its Kind. Programs
// that serve other callers use it to give advice in their own words, for example which
// tool to call or which flag to set. Error.Advice is the advice for callers of this
// library.
type Reason string

// Reasons of a session's errors.
const (
	ReasonNoSession       Reason = "no such session"
	ReasonLoginAsks       Reason = "the login asks a question"
	ReasonOpening         Reason = "the session is still opening"
	ReasonNoFiles         Reason = "the protocol carries no files"
	ReasonNulByte         Reason = "the command holds a NUL byte"
	ReasonCanceledRunning Reason = "the call was canceled, the command goes on"

	// Reasons that concern the lock.
	ReasonNoTask      Reason = "the call names no task"
	ReasonHeldTakable Reason = "another task holds the lock, which may be taken over"
	ReasonNotHeld     Reason = "the task does not hold the lock"
	ReasonTakenOver   Reason = "the lock was taken over, and is free now"
	ReasonConsole     Reason = "a console needs its lock"

	// Reasons that concern the terminal, for a command.
	ReasonRunning       Reason = "a command runs in the terminal"
	ReasonQueued        Reason = "commands are queued for the terminal"
	ReasonNotFree       Reason = "the terminal did not become free"
	ReasonNotReady      Reason = "the terminal shows no prompt"
	ReasonOtherPrompt   Reason = "the last line is not the prompt that was expected"
	ReasonUnsurePrompt  Reason = "the last line may not be a shell's prompt"
	ReasonDevicePrompt  Reason = "the last line looks like a device's prompt"
	ReasonCustomMarker  Reason = "the shell cannot print a custom marker"
	ReasonNoChannelLane Reason = "the session has no channel lane"
)

// A Limit identifies a limit of the operator.
type Limit string

// Limits.
const (
	LimitSessions     Limit = "open sessions"
	LimitOutput       Limit = "output kept for all sessions"
	LimitWaitingReads Limit = "waiting reads"
)

// A Setting identifies a feature that an operator can allow or forbid.
type Setting string

// Settings.
const (
	SettingTakeOver    Setting = "taking over locks"
	SettingLocalFiles  Setting = "files of this machine"
	SettingRemoteFiles Setting = "files of other machines"
)

// A Field identifies the wrong part of a request.
type Field string

// Fields.
const (
	FieldData     Field = "Data"
	FieldKey      Field = "Key"
	FieldLane     Field = "Lane"
	FieldProtocol Field = "Protocol"
	FieldStream   Field = "Stream"
	FieldTask     Field = "Task"
)
