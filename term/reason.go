package term

import "fmt"

// A Reason is the cause of a refusal or failure, in more detail than its Kind. Programs
// that serve other callers use it to give advice in their own words, for example which
// command to call or which flag to set. Error.Advice is the advice for callers of this
// library.
type Reason string

// Reasons of a session's errors.
const (
	ReasonNoSession       Reason = "no such session"
	ReasonNoExec          Reason = "no such command"
	ReasonNoFleet         Reason = "no such run over many hosts"
	ReasonLoginAsks       Reason = "the login asks a question"
	ReasonLoginsWait      Reason = "earlier logins wait for answers"
	ReasonOpening         Reason = "the session is still opening"
	ReasonReopening       Reason = "the session is being reopened"
	ReasonMayReopen       Reason = "the session has ended, and may be reopened"
	ReasonNoFiles         Reason = "the protocol carries no files"
	ReasonNoForwarding    Reason = "the protocol forwards no connections"
	ReasonNulByte         Reason = "the command holds a NUL byte"
	ReasonCanceledRunning Reason = "the call was canceled, the command goes on"

	ReasonReservationEnded Reason = "the session no longer has its device"

	ReasonNoOwners     Reason = "sessions do not outlive their clients here"
	ReasonNotLeft      Reason = "no such session was left by the caller's client"
	ReasonOwnerPresent Reason = "the session's client is present"
	ReasonElsewhere    Reason = "another version of the program keeps the session"
	ReasonResumable    Reason = "the session has to be adopted first"

	// Reasons that concern the nodes of a cluster.
	ReasonNodeUnreachable Reason = "the node of the session does not answer, and nothing was done there"
	ReasonNodeSilent      Reason = "the node of the session does not answer, and may have done what it was asked for"
	ReasonRequestLost     Reason = "the node that had the request has begun anew, and may have done it before"

	// Reasons that concern the lock.
	ReasonNoTask      Reason = "the call names no task"
	ReasonTaskOmitted Reason = "the call names no task, and one of the same caller holds the lock"
	ReasonHeldTakable Reason = "another task holds the lock, which may be taken over"
	ReasonNotHeld     Reason = "the task does not hold the lock"
	ReasonTakenOver   Reason = "the lock was taken over, and is free now"
	ReasonConsole     Reason = "a console needs its lock"

	// Reasons that concern the terminal, for a command.
	ReasonRunning         Reason = "a command runs in the terminal"
	ReasonQueued          Reason = "commands are queued for the terminal"
	ReasonSteps           Reason = "another call types steps or lines into the terminal"
	ReasonTransfer        Reason = "a file is being moved over the terminal"
	ReasonNotFree         Reason = "the terminal did not become free"
	ReasonNotReady        Reason = "the terminal shows no prompt"
	ReasonNoPrompt        Reason = "the last line is not known to be a prompt"
	ReasonFullScreen      Reason = "the alternate screen is on"
	ReasonOtherPrompt     Reason = "the last line is not the prompt that was expected"
	ReasonUnsurePrompt    Reason = "the last line may not be a shell's prompt"
	ReasonDevicePrompt    Reason = "the last line looks like a device's prompt"
	ReasonHalfTyped       Reason = "typed text stands in the last line"
	ReasonQuestionChanged Reason = "the terminal has changed while a secret was fetched"
	ReasonContinuation    Reason = "the last line may ask for the rest of a command"
	ReasonOtherShell      Reason = "another shell has the terminal than the one the line was made for"
	ReasonCustomMarker    Reason = "the shell cannot print a custom marker"
	ReasonNoChannelLane   Reason = "the session has no channel lane"
)

// The reasons of the transports' errors.
const (
	ReasonTypeInstead    Reason = "the server runs no commands beside the terminal"
	ReasonSlow           Reason = "the connection was not ready in time"
	ReasonConnectTimeout Reason = "the connection was not ready within ConnectTimeout of ssh_config"
	ReasonNoCredential   Reason = "there is no credential to try"
	ReasonWrongAnswer    Reason = "an answer to a question of the login was not accepted"
	ReasonWrongPassword  Reason = "the password was not accepted"
	ReasonPinUnrecorded  Reason = "the host is unknown, and its key cannot be recorded, but pinned"
	ReasonPinAllowed     Reason = "the host is unknown, and its key may be pinned"
	ReasonPinOrRecord    Reason = "the policy is too weak, and the host's key may be pinned"

	ReasonTelnetLogin  Reason = "Telnet has no authentication of its own"
	ReasonTelnetSilent Reason = "the far side has not spoken Telnet"
	ReasonNotTelnet    Reason = "the far side is no Telnet server"
	ReasonNotTelnetTLS Reason = "the far side wants TLS"
	ReasonNegotiation  Reason = "the negotiation does not end"
	ReasonCertificate  Reason = "the certificate cannot be verified"
	ReasonNoTLS        Reason = "the server does not speak TLS on this port"
	ReasonOneProgram   Reason = "the session is one program"
	ReasonNoTerminal   Reason = "the program has no terminal"
	ReasonTransferSlow Reason = "the transfer took too long"
	ReasonSerialAllow  Reason = "the operator has not allowed this serial line"
	ReasonRunCommands  Reason = "commands are run, and nothing is typed"
	ReasonNotReplaced  Reason = "the file can only be written over"
	ReasonExists       Reason = "a file is there, and is not to be replaced"
	ReasonUnreadable   Reason = "a file that decides cannot be read"
	ReasonDescriptors  Reason = "there is no file descriptor left"
	ReasonUnrecorded   Reason = "the journal refuses what it cannot record"
	ReasonNoRecording  Reason = "the recording of the session cannot be written"
	ReasonTasks        Reason = "there is no room for another process"
	ReasonTerminals    Reason = "there is no pseudo-terminal left"
	ReasonMemory       Reason = "there is no memory for another session"
	ReasonNameServer   Reason = "no name server answers"
	ReasonPTYRefused   Reason = "the server refuses a pseudo-terminal"
	ReasonCommandsOnly Reason = "the session has no terminal, only commands"
)

// A Limit identifies a limit of the operator.
type Limit string

// Limits.
const (
	LimitSessions     Limit = "open sessions"
	LimitOutput       Limit = "output kept for all sessions"
	LimitWaitingReads Limit = "waiting reads"
	LimitFileWrite    Limit = "bytes of a file written at once"
	LimitCopyBytes    Limit = "bytes of a copy"
	LimitCopyFiles    Limit = "files and folders of a copy"
	LimitDescriptors  Limit = "file descriptors of this process"
	LimitTasks        Limit = "processes and threads of this user or container"
	LimitTerminals    Limit = "pseudo-terminals of this system"
	LimitGroupMemory  Limit = "memory of this control group"
	LimitFleetHosts   Limit = "hosts of runs over many"
	LimitForwards     Limit = "forwards of a session"

	// Of a local program: see Limits.
	LimitCPU       Limit = "cpu"
	LimitMemory    Limit = "memory"
	LimitFiles     Limit = "files"
	LimitProcesses Limit = "processes"
)

// A Setting identifies a feature that an operator can allow or forbid.
type Setting string

// Settings.
const (
	SettingTakeOver    Setting = "taking over locks"
	SettingLocalFiles  Setting = "files of this machine"
	SettingRemoteFiles Setting = "files of other machines"
	SettingForward     Setting = "forwarding"
	SettingForwardTCP  Setting = "forwarding from a TCP port"

	SettingHostKeyFloor    Setting = "weakest host key policy"
	SettingCallerPaths     Setting = "folders of callers"
	SettingAgentForwarding Setting = "agent forwarding"
	SettingIdentityAgent   Setting = "identity agent"
	SettingExecDirectives  Setting = "programs of ssh_config"
)

// A Field identifies the wrong part of a request.
type Field string

// Fields.
const (
	FieldClick    Field = "Click"
	FieldData     Field = "Data"
	FieldKey      Field = "Key"
	FieldLane     Field = "Lane"
	FieldLines    Field = "Lines"
	FieldCommand  Field = "Command"
	FieldProtocol Field = "Protocol"
	FieldStream   Field = "Stream"
	FieldTask     Field = "Task"

	FieldHost   Field = "Host"
	FieldPort   Field = "Port"
	FieldPath   Field = "Path"
	FieldOffset Field = "Offset"

	FieldCopyFrom Field = "From"
	FieldCopyTo   Field = "To"

	FieldForwardTo Field = "Forward.To"

	FieldMode   Field = "Mode"
	FieldSignal Field = "Signal"
	FieldPTY    Field = "PTY"
	FieldTerm   Field = "PTY.Term"
	FieldEnv    Field = "Env"

	FieldAuth       Field = "Auth"
	FieldPrivateKey Field = "Auth.PrivateKeyPEM"
	FieldPassphrase Field = "Auth.Passphrase"

	FieldSSH           Field = "SSH"
	FieldHostKeyPolicy Field = "SSH.HostKeyPolicy"
	FieldFingerprint   Field = "SSH.HostKeyFingerprint"
	FieldKnownHosts    Field = "SSH.KnownHostsPath"
	FieldConfigPath    Field = "SSH.ConfigPath"
	FieldProxyURL      Field = "SSH.ProxyURL"
	FieldExtraArgs     Field = "SSH.ExtraArgs"
	FieldLegacy        Field = "SSH.Legacy"

	FieldTelnetMode   Field = "Telnet.Mode"
	FieldTelnetEnter  Field = "Telnet.Enter"
	FieldTelnetBinary Field = "Telnet.Binary"
	FieldTLS          Field = "Telnet.TLS"
	FieldSerial       Field = "Serial"
	FieldPin          Field = "Telnet.TLS.Pin"

	FieldArgv      Field = "Local.Argv"
	FieldDir       Field = "Local.Dir"
	FieldLocalEnv  Field = "Local.Env"
	FieldLimits    Field = "Local.Limits"
	FieldProcesses Field = "Local.Limits.Processes"
)

// At is element i of a list.
func (f Field) At(i int) Field { return Field(fmt.Sprintf("%s[%d]", f, i)) }
