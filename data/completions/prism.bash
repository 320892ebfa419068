# SPDX-License-Identifier: LGPL-2.1-or-later
# bash completion for prism(1): the program itself says what could come.
# Each line of the arguments is a candidate.
_prism_add() {
  local lines
  mapfile -t lines <<<"$(printf '%s\n' "$@")"
  local candidate
  for candidate in "${lines[@]}"; do
    [ -z "$candidate" ] || COMPREPLY+=("$candidate")
  done
}

_prism() {
  local line IFS=$'\n' words=("${COMP_WORDS[@]:1:COMP_CWORD}")
  COMPREPLY=()
  # bash splits at "=", prism does not: NAME=VALUE is put together again.
  if [[ ${COMP_WORDBREAKS} == *=* ]]; then
    local joined=() word
    for word in "${words[@]}"; do
      if [[ ${#joined[@]} -gt 0 && ($word == "=" || ${joined[-1]} == *=) ]]; then
        joined[-1]+=$word
      else
        joined+=("$word")
      fi
    done
    words=("${joined[@]}")
  fi
  local current=${words[-1]} cut=''
  [[ $current == *=* && ${COMP_WORDBREAKS} == *=* ]] && cut=${current%=*}=
  while read -r line; do
    case $line in
      :files) _prism_add "$(compgen -f -- "${current#"$cut"}")"; compopt -o filenames ;;
      :folders) _prism_add "$(compgen -d -- "${current#"$cut"}")"; compopt -o filenames ;;
      :commands) _prism_add "$(compgen -c -- "$current")" "$(compgen -f -- "$current")" ;;
      *=) COMPREPLY+=("${line#"$cut"}"); compopt -o nospace ;;
      *) COMPREPLY+=("${line#"$cut"}") ;;
    esac
  done < <("${COMP_WORDS[0]}" complete -- "${words[@]}" 2>/dev/null)
}
complete -F _prism prism
