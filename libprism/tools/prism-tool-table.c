/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The tools in a table: what models and clients read of them. docs/tools.md is made of this. */
#include "prism-tool-table-private.h"

#include "prism-tool-git-private.h"

#define OBJECT(properties, required)                                                                                   \
  "{\"type\":\"object\",\"properties\":{" properties "},\"required\":[" required "],\"additionalProperties\":false}"
#define STRING(name, text) "\"" name "\":{\"type\":\"string\",\"description\":\"" text "\"}"
#define TEXT(name, text)   "\"" name "\":{\"type\":\"string\",\"minLength\":1,\"description\":\"" text "\"}"
#define CHOICE(name, values, text)                                                                                     \
  "\"" name "\":{\"type\":\"string\",\"enum\":[" values "],\"description\":\"" text "\"}"
#define NUMBER(name, least, most, text)                                                                                \
  "\"" name "\":{\"type\":\"integer\",\"minimum\":" #least ",\"maximum\":" #most ",\"description\":\"" text "\"}"
#define FLAG(name, text) "\"" name "\":{\"type\":\"boolean\",\"description\":\"" text "\"}"
#define RANGE                                                                                                          \
  "\"readRange\":{\"type\":\"array\",\"minItems\":2,\"maxItems\":2,\"items\":{\"type\":\"integer\",\"minimum\":1,"     \
  "\"maximum\":1000000000},\"description\":\"[first, last] line, in place of offset and limit\"}"
#define WALK                                                                                                           \
  FLAG ("includeHidden", "Names with a leading dot too")                                                               \
  "," NUMBER ("maxDepth", 1, 128, "How many folders deep (default 32)") "," NUMBER (                                   \
      "maxResults", 1, 10000,                                                                                          \
      "Entries of one answer (default 1000)") "," NUMBER ("offset", 0, 100000,                                         \
                                                          "Entries to leave out: nextOffset of the answer before")

#define PATH_TEXT "Path below the workspace"

const PrismToolKind prism_tool_kinds[] = {
  { "shell", "Run a command",
    "Runs a command line with /bin/sh in the workspace. Answers with standard output and standard error as "
    "they came, "
    "the last part of them where they are long. A non-zero exit status is told, and is no error of the tool.",
    OBJECT (TEXT ("command",
                  "The command line") "," NUMBER ("timeout", 1, 3600, "Seconds after which it is ended (default 600)"),
            "\"command\""),
    PRISM_EFFECT_EXTERNAL_MUTATION, TRUE, prism_tool_run_shell, NULL },
  { "read", "Read a file",
    "Reads a text file page by page, or an image (PNG, JPEG, GIF, WebP, BMP). A path's \\xHH is the byte HH.",
    OBJECT (TEXT ("path", PATH_TEXT) "," NUMBER ("offset", 1, 1000000000, "The first line, from 1") "," NUMBER (
                "limit",
                1,
                100000,
                "Most lines") "," STRING ("findText",
                                          "Begin at the first line from offset on that has "
                                          "this text") "," CHOICE ("findMode",
                                                                   "\"exact\",\"case-"
                                                                   "insensitive\"",
                                                                   "How findText is compared") "," RANGE,
            "\"path\""),
    PRISM_EFFECT_NONE, FALSE, prism_tool_run_read, NULL },
  { "write", "Write a file",
    "Writes a whole file, and makes the folders that lead to it. Whoever reads it meanwhile sees the old or "
    "the new "
    "content. Nothing is written through a symbolic link.",
    OBJECT (TEXT ("path", PATH_TEXT) "," STRING ("content", "The whole content") "," FLAG (
                "force", "Although the file was not read, or changed since"),
            "\"path\",\"content\""),
    PRISM_EFFECT_LOCAL_MUTATION, FALSE, prism_tool_run_write, NULL, prism_tool_prove_write },
  { "edit", "Edit a file",
    "Replaces texts in a file. Each oldText must be there exactly once; all are looked for in the file as it "
    "is, and "
    "none may overlap another. Line ends and all other bytes stay as they are. Send edits as an array of "
    "objects.",
    OBJECT (
        TEXT ("path", PATH_TEXT) ",\"edits\":{\"type\":\"array\",\"minItems\":1,\"maxItems\":1000,\"description\":"
                                 "\"What to replace\",\"items\":" OBJECT (
                                     TEXT ("oldText", "What is there") "," STRING ("newText", "What is to be there"),
                                     "\"oldText\",\"newText\"") "}," FLAG ("fuzzy",
                                                                           "Where there is no exact match, ignore "
                                                                           "blanks at line ends "
                                                                           "and how quotes, dashes and spaces are "
                                                                           "written") "," FLAG ("force",
                                                                                                "Although the file was "
                                                                                                "not read, or changed "
                                                                                                "since"),
        "\"path\",\"edits\""),
    PRISM_EFFECT_LOCAL_MUTATION, FALSE, prism_tool_run_edit, prism_tool_accept_edit },
  { "repo_list", "List files",
    "Lists a folder and what is below it, nearest first, as lines KIND TAB PATH [TAB SIZE]. Without .git, "
    "node_modules "
    "and dist; symbolic links are listed, not followed.",
    OBJECT (TEXT ("path", "Folder below the workspace (default: the workspace)") "," WALK, ""), PRISM_EFFECT_NONE,
    FALSE, prism_tool_run_list, NULL },
  { "repo_search", "Search files",
    "Looks for a literal text, not a regular expression, in all text files below a folder. Answers with "
    "path:line:column:text. Without .git, node_modules and dist, nor through symbolic links.",
    OBJECT (
        TEXT ("query", "The text, of one line") "," TEXT ("path", "Folder or file below the workspace (default: the workspace)") "," CHOICE (
            "mode",
            "\"literal\"",
            "Only literal") "," FLAG ("caseSensitive",
                                      "Whether upper and lower case differ (default "
                                      "false)") "," FLAG ("includeHidden",
                                                          "Names with a leading dot "
                                                          "too") "," NUMBER ("contex"
                                                                             "t",
                                                                             0,
                                                                             20,
                                                                             "Lines "
                                                                             "before"
                                                                             " and "
                                                                             "after "
                                                                             "each "
                                                                             "match "
                                                                             "(defau"
                                                                             "lt 0)") "," NUMBER ("maxMatches",
                                                                                                  1,
                                                                                                  10000,
                                                                                                  "Most matching "
                                                                                                  "lines (default "
                                                                                                  "1000)") "," CHOICE ("outputMode",
                                                                                                                       "\"content\",\"files_with_matches\",\"count\"",
                                                                                                                       "What to answer with"),
        "\"query\""),
    PRISM_EFFECT_NONE, FALSE, prism_tool_run_search, NULL },
  { "glob", "Find files by name",
    "Finds files whose path below a folder fits a pattern: * within a name, ? one character, ** any folders. "
    "Without .git, node_modules and dist, nor through symbolic links.",
    OBJECT (
        TEXT ("pattern", "The pattern, as src/**/*.c") "," TEXT (
            "path", "Folder below the workspace (default: the workspace)") "," WALK
                                                                           "," FLAG ("braceExpansion",
                                                                                     "Whether {a,b} are alternatives "
                                                                                     "(default false)"),
        "\"pattern\""),
    PRISM_EFFECT_NONE, FALSE, prism_tool_run_glob, NULL },
  { "delete", "Delete a file",
    "Deletes a file, an empty folder or, with recursive, a folder with all in it. A symbolic link itself is "
    "deleted. "
    "There is no way back.",
    OBJECT (TEXT ("path", PATH_TEXT) "," FLAG ("recursive", "A folder with all in it") "," NUMBER (
                "maxEntries", 1, 100000, "Give up after so many entries (default 10000)"),
            "\"path\""),
    PRISM_EFFECT_LOCAL_MUTATION, FALSE, prism_tool_run_delete, NULL, prism_tool_prove_delete },
  { "move", "Move a file",
    "Moves or renames a file, a folder or a symbolic link itself. The folder that it goes to has to be there; "
    "what is "
    "there already is only replaced with overwrite, and only if it is a file.",
    OBJECT (TEXT ("from", "What to move") "," TEXT ("to", "Its new path, name included") "," FLAG ("overwrite",
                                                                                                   "Replace a file"),
            "\"from\",\"to\""),
    PRISM_EFFECT_LOCAL_MUTATION, FALSE, prism_tool_run_move, NULL, prism_tool_prove_move },
  { NULL },
};

const PrismToolKind prism_tool_other_kinds[] = {
  { "coding_check", "Run a check", "Runs one of the project's declared checks by its name.",
    OBJECT (TEXT ("name", "Which check"), "\"name\""), PRISM_EFFECT_EXTERNAL_MUTATION, TRUE, prism_tool_run_check,
    NULL },
  { "ask_user_decision", "Ask the user",
    "Asks the person for a decision between options, each with up to three sentences for and against it.",
    OBJECT (
        TEXT (
            "question",
            "The question") ",\"options\":{\"type\":\"array\",\"minItems\":2,\"maxItems\":16,"
                            "\"description\":\"2 to 6 options\",\"items\":" OBJECT (
                                TEXT ("id", "A letter, then letters, digits, _ and -") "," TEXT (
                                    "label",
                                    "What is shown") ",\"pros\":{\"type\":\"array\",\"maxItems\":3,\"items\":{\"type\":"
                                                     "\"string\"},"
                                                     "\"description\":\"For "
                                                     "it\"},\"cons\":{\"type\":\"array\",\"maxItems\":3,"
                                                     "\"items\":{\"type\":\"string\"},\"description\":\"Against it\"}",
                                "\"id\",\"label\"") "}," CHOICE ("selectionMode",
                                                                 "\"single\",\"multiple\"",
                                                                 "How many may be chosen "
                                                                 "(default single)") "," FLAG ("allowCustom",
                                                                                               "Whether text of the "
                                                                                               "person's own is an "
                                                                                               "answer (default "
                                                                                               "false)"),
        "\"question\",\"options\""),
    PRISM_EFFECT_NONE, TRUE, prism_tool_run_ask, NULL },
  { NULL },
};

/* Names and parameters that models know from elsewhere. */
const PrismToolKind prism_tool_alias_kinds[] = {
  { "bash", "Run a command", "As shell; the timeout is in milliseconds.",
    OBJECT (TEXT ("command", "The command line") "," NUMBER (
                "timeout",
                1,
                600000,
                "Milliseconds after which it is ended (default 120000)") "," FLAG ("run_in_background",
                                                                                   "Refused: nothing runs on when the "
                                                                                   "call is over"),
            "\"command\""),
    PRISM_EFFECT_EXTERNAL_MUTATION, TRUE, prism_tool_run_bash, NULL },
  { "ls", "List a folder", "As repo_list, of one folder.",
    OBJECT (
        TEXT ("path", "Folder below the workspace (default: the workspace)") "," FLAG (
            "all",
            "Names with a leading dot too") "," FLAG ("recursive",
                                                      "Folders below it too") "," NUMBER ("max_depth",
                                                                                          1,
                                                                                          128,
                                                                                          "How many folders deep, with "
                                                                                          "recursive (default 3)"),
        ""),
    PRISM_EFFECT_NONE, FALSE, prism_tool_run_ls, NULL },
  { NULL },
};

#define PATHS(text)                                                                                                    \
  "\"paths\":{\"type\":\"array\",\"minItems\":1,\"maxItems\":10000,\"items\":{\"type\":\"string\",\"minLength\":1},"   \
  "\"description\":\"" text "\"}"
#define CHECKS                                                                                                         \
  "\"checks\":{\"type\":\"array\",\"maxItems\":32,\"items\":{\"type\":\"string\",\"minLength\":1},"                    \
  "\"description\":\"Declared checks to run first, on the workspace as it is\"}"
#define KEPT       FLAG ("createCheckpoint", "Keep a copy of what is not committed in the stash first, whose id is told")
#define CHECKPOINT FLAG ("createCheckpoint", "Put what is not committed into a stash first, whose id is told")

const PrismToolKind prism_tool_git_kinds[] = {
  { "git_status", "Git status", "The branch, and what differs from the last commit.",
    OBJECT (FLAG ("includeIgnored", "Ignored files too"), ""), PRISM_EFFECT_NONE, FALSE, prism_tool_run_git_status,
    NULL },
  { "git_diff", "Git diff", "What differs from what is staged, or with staged, from the last commit, as a patch.",
    OBJECT (FLAG ("staged", "What is staged") "," PATHS ("Only these paths"), ""), PRISM_EFFECT_NONE, FALSE,
    prism_tool_run_git_diff, NULL },
  { "git_branch", "Git branches", "Lists branches, checks a name, makes a branch, or goes to one.",
    OBJECT (CHOICE ("action", "\"validate\",\"create\",\"switch\",\"list\"", "What to do") "," TEXT (
                "name", "The branch; not for list") "," CHECKPOINT,
            "\"action\""),
    PRISM_EFFECT_LOCAL_MUTATION, TRUE, prism_tool_run_git_branch, NULL },
  { "git_worktree", "Git worktrees", "Lists, adds, removes, locks or unlocks worktrees below the workspace.",
    OBJECT (
        CHOICE ("action", "\"list\",\"add\",\"remove\",\"lock\",\"unlock\"", "What to do") "," TEXT (
            "path", "The worktree; not for list") "," TEXT ("branch",
                                                            "add: which branch or commit") "," FLAG ("force",
                                                                                                     "remove: although "
                                                                                                     "it has changes"),
        "\"action\""),
    PRISM_EFFECT_LOCAL_MUTATION, TRUE, prism_tool_run_git_worktree, NULL },
  { "git_apply", "Apply a patch", "Checks whether a patch fits, applies it, or takes it back: all of it or nothing.",
    OBJECT (CHOICE ("action", "\"check\",\"apply\",\"reverse\"", "What to do") "," TEXT (
                "patch", "A patch as git diff writes it") "," CHECKPOINT,
            "\"action\",\"patch\""),
    PRISM_EFFECT_LOCAL_MUTATION, TRUE, prism_tool_run_git_apply, NULL },
  { "git_commit", "Git commit", "Commits the named paths, and nothing else. Hooks do not run; nothing is pushed.",
    OBJECT (PATHS ("What to commit") "," TEXT ("message", "The commit's message") "," KEPT, "\"paths\",\"message\""),
    PRISM_EFFECT_LOCAL_MUTATION, TRUE, prism_tool_run_git_commit, NULL },
  { "git_pr_handoff", "Hand over a change",
    "What a reviewer needs of the commits between base and head: their list, the changed paths, a statistic and the "
    "patch, and on demand a bundle that git fetches from and how checks end. Nothing is pushed.",
    OBJECT (TEXT ("base", "The branch or commit that it starts from") "," TEXT (
                "head", "Its last one (default HEAD)") "," FLAG ("includeBundle",
                                                                 "A bundle too; head has to be a branch, a tag or "
                                                                 "HEAD") "," CHECKS,
            "\"base\""),
    PRISM_EFFECT_EXTERNAL_MUTATION, TRUE, prism_tool_run_git_pr_handoff, NULL },
  { NULL },
};
