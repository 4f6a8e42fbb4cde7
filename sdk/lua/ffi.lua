---@meta ffi
-- Annotations for lua-language-server: functions of shared libraries, `local ffi = require "ffi"`.

---@class sluice.FfiDefinition
---@field lib string Path of the shared library.
---@field [integer] string Prototypes: "double score(const char *, size_t)".

---@class sluice.ffi
local ffi = {}

---Functions of a shared library, one a prototype. A stage that reaches one runs in a process of its own.
---```lua
---local score = ffi.def { lib = "./libppl.so", "double score(const char *, size_t)" }
---```
---@param definition sluice.FfiDefinition
---@return fun(...): any ...
function ffi.def(definition) end

return ffi
