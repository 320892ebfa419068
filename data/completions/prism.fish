# SPDX-License-Identifier: LGPL-2.1-or-later
# fish completion for prism(1): the program itself says what could come.
function __prism_complete
    set -l words (commandline -opc) (commandline -ct)
    for line in ($words[1] complete -- $words[2..-1] 2>/dev/null)
        switch $line
            case :files
                __fish_complete_path (commandline -ct)
            case :folders
                __fish_complete_directories (commandline -ct)
            case :commands
                __fish_complete_command
            case '*'
                echo $line
        end
    end
end
complete -c prism -f -a '(__prism_complete)'
