-- sluice repro: what a run made when it was run again, beside what was recorded; or what is missing for that.

local v = require "lib"
local number, text, list, each, say, many = v.number, v.text, v.list, v.each, v.say, v.many

local MOST = 20 -- files that are named

local function print_missing(missing)
  for thing in each(missing) do
    say("  %-8s %s%s%s\n", text(thing.kind), text(thing.path), text(thing.path) == "" and "" or ": ", text(thing.message))
  end
end

local function side(piece)
  piece = list(piece)
  return piece.rows == nil and text(piece.hash) or string.format("%s, %s, %s", many(piece.rows, "row"), v.bytes(number(piece.bytes)), text(piece.hash):sub(1, 12))
end

local function print_names(names, how)
  for i, name in ipairs(list(names)) do
    if i > MOST then
      say("    and %d more\n", #list(names) - MOST)
      break
    end
    say("    %s: %s\n", text(name), how)
  end
end

local function print_writer(writer)
  local different = list(writer.different)
  say("  %s %s@%d: %s, %s, %s: %s\n", text(writer.writer), text(writer.dataset), number(writer.snapshot), many(writer.files, "file"),
    many(writer.rows, "row"), v.bytes(number(writer.bytes)), writer.equal == true and "the same" or "not the same")
  for reader in pairs(list(writer.inputs)) do
    say("    %s read other bytes than then\n", text(writer.inputs[reader]))
  end
  for i, file in ipairs(different) do
    if i > MOST then
      say("    and %d more\n", #different - MOST)
      break
    end
    file = list(file)
    say("    %s: %s then; %s now\n", text(file.file), side(file["then"]), side(file.now))
  end
  print_names(writer.gone, "was there, is not made now")
  print_names(writer.new, "is made now, was not there")
  if writer.ledger ~= true then
    say("    the account of rows is another one\n")
  end
end

return function(facts)
  if not v.empty(facts.missing) then
    print_missing(facts.missing)
    return
  end
  say("%s, run again: %s\n", text(facts.run_dir), facts.equal == true and "every byte is the same" or "not the same")
  for writer in each(facts.writers) do print_writer(writer) end
  if text(facts.kept) ~= "" then
    say("what was made now is in %s/datasets\n", text(facts.kept))
  elseif facts.equal ~= true then
    say "with --into DIR what is made now is kept, for `sluice diff`\n"
  end
end
