package prompt

import "ptyctl/internal/lazyregexp"

// foreignPassword matches questions for a password in the languages into which Linux-PAM, sudo and shadow are
// translated, by the stem of the word. The line ends in a colon, of any script.
var foreignPassword = lazyregexp.New(`(?i)(?:` +
	`passwor[td]|kennwort|passord|pasvort|pasahitz|parool|\bparol|heslo|hesla|hasło|hasła|lozink|šifr[au]|şifrə|` +
	`lösenord|adgangskode|wachtwoord|mot de passe|contrase[ñn]a|contrasenya|contrasinal|contrasigno|palavra-passe|` +
	`\bsenha|salasana|jelsz[óa]|geslo|slaptažod|kata sandi|mật khẩu|focal faire|pasfhocal|kontrasenyas|iphasiwedi|` +
	`парол|лозинк|κωδικ|συνθηματικ|პაროლ|ססמ|סיסמ|كلمة ال?سر|كلمة المرور|گذرواژه|パスワード|密码|密碼|口令|비밀번호|암호|` +
	`पासवर्ड|गुप्तशब्द|शब्दकूट|গুপ্তশব্দ|পাসওয়ার্ড|પાસવર્ડ|ਪਾਸਵਰਡ|ಗುಪ್ತಪದ|അടയാളവാക്ക്|ପ୍ରବେଶ ସଙ୍କେତ|රහස්පදය|கடவுச்சொல்|సంకేతపదము|ពាក្យ\x{200b}?សម្ងាត់` +
	`)[^:：៖?\r\n]{0,80}[:：៖][ \x{a0}]*$`)
