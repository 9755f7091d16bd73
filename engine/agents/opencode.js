// Autopoiesis for opencode, written by `autopoiesis install opencode`; `--uninstall` takes it away again.
// It starts `autopoiesis-hook` at opencode's events and hands on what comes back. Whatever goes wrong, opencode
// goes on as if it were not there. For opencode 1 (`server`) from 1.18.29 on, and opencode 2 (`setup`).
import { spawn } from "node:child_process"

const COMMAND = ["autopoiesis-hook", "opencode"]
const WAITED_MS = 8_000 // for which opencode waits at most
const HOOK_MS = 6_000 // the program ends by itself within 5 seconds
const QUIET_MS = 30 * 60_000 // after which a session counts as ended: opencode has no such event
const SESSION_MOST = 5_000_000 // characters; the program reads no more than 16 MiB
const OWN_TOOLS = new Set(["apply_patch", "plan_enter", "plan_exit"])
const ASIDE = /^You are a (title generator|context summarization agent)\b/ // what opencode 1 asks in a session's name
const LOADED = Date.now()
const TYPED = "autopoiesis.typed" // in a part's metadata, the command that it was made from
const FIRST_GENERATION = Symbol.for("autopoiesis.opencode.1")
const TAKEN = (globalThis[Symbol.for("autopoiesis.opencode.taken")] ??= new Map()) // by session, who serves it

/** What a promise gives; nothing where it fails or takes too long. */
const within = (ms, promised) =>
  new Promise((resolve) => {
    const timer = setTimeout(resolve, ms)
    promised.then(resolve, () => resolve()).finally(() => clearTimeout(timer))
  })

/** A hook that fails would stop a person's work. */
const safe = (work) => async (...given) => {
  try {
    return await work(...given)
  } catch {}
}

/** What the program answers with; empty where it is not there, fails or takes too long. */
const run = (payload) =>
  new Promise((resolve) => {
    const child = spawn(COMMAND[0], COMMAND.slice(1), { stdio: ["pipe", "pipe", "ignore"], windowsHide: true })
    const parts = []
    const timer = setTimeout(() => child.kill("SIGKILL"), HOOK_MS)
    const done = () => {
      clearTimeout(timer)
      try {
        resolve(JSON.parse(Buffer.concat(parts).toString()).hookSpecificOutput.additionalContext)
      } catch {
        resolve("")
      }
    }
    child.on("error", done)
    child.on("close", done)
    child.stdin.on("error", () => {})
    child.stdout.on("data", (part) => parts.push(part))
    child.stdin.end(JSON.stringify(payload))
  })

/** A tool's arguments as other agents name them, without what is long. */
const short = (input) =>
  Object.fromEntries(
    Object.entries(typeof input === "object" ? (input ?? {}) : {})
      .filter(([, value]) => (JSON.stringify(value) ?? "").length < 4_000)
      .map(([key, value]) => [key === "filePath" ? "file_path" : key, value]),
  )

/** What a person typed in a text: a command by its name, and without the quotes that `opencode run` puts around it. */
const typed = ({ text, metadata }) => {
  const inner = text.slice(1, -1)
  const isWhole = text.startsWith('"') && text.endsWith('"') && !inner.replaceAll('\\"', "").includes('"')
  return metadata?.[TYPED] ?? (isWhole && inner.includes(" ") ? inner.replaceAll('\\"', '"') : text)
}

/** What was said in a message of either generation; what opencode or a plugin put into it was not said. */
const said = (message) => {
  const about = message.info ?? message
  const role = about.role ?? about.type
  if ((role !== "user" && role !== "assistant") || about.summary === true) return []
  const content = (message.parts ?? message.content ?? [{ type: "text", text: message.text }]).flatMap((part) => {
    if (part.type === "text" && part.text && !part.synthetic && !part.ignored)
      return [{ type: "text", text: role === "user" ? typed(part) : part.text }]
    if (part.type !== "tool") return []
    const { input, output, content = [], error, title } = part.state ?? {}
    const result = String(error?.message ?? error ?? output ?? content.map((each) => each.text ?? "").join("\n"))
    const tool = part.tool ?? part.name ?? ""
    // A server's name stands before its tools. A server `plan` may have a tool `exit`: its results have no title.
    const name = tool.includes("_") && !(OWN_TOOLS.has(tool) && title !== "") ? `mcp__${tool}` : tool
    const lines = name === "read" && !error && result.match(/^\d+[:|] .*$/gm) // of the file; more stands around them
    const told = (lines ? lines.join("\n") : result).slice(0, 65_536)
    return [{ type: "tool_use", name, input: short(input), output: told, is_error: !!error }]
  })
  const more = { role, timestamp: about.time?.created, model: about.modelID ?? about.model?.id }
  if (role === "assistant") return content.map((each) => ({ ...more, content: [each] })) // in their order
  const kind = (message.parts ?? []).some((part) => part.metadata?.[TYPED]) ? "command" : undefined
  return content.length ? [{ ...more, kind, content }] : []
}

/** What is done at the events of one instance of opencode, given how to ask it. */
const memory = (ask) => {
  const standing = new Map() // by session, what holds throughout
  const open = new Map() // by session of a person's, its folder and the timer of its end
  const compacted = new Set()
  const begun = new Set()
  // Installed for the person and for the project as well, it is loaded twice: the first to see a session serves it.
  const takes = (id) => {
    const key = `${id} ${COMMAND}`
    if (!TAKEN.has(key)) TAKEN.set(key, open)
    return TAKEN.get(key) === open
  }
  const asked = async (name, id) => {
    const found = await ask[name](id)
    return found?.data ?? found
  }

  const call = async (hook_event_name, id, more = {}) => {
    if (!takes(id)) return ""
    const about = await asked("session", id)
    if (!about || about.parentID) return "" // a sub-agent's
    const payload = { hook_event_name, session_id: id, cwd: about.directory ?? about.location?.directory ?? "" }
    if (!open.has(id)) open.set(id, payload)
    // Of one that another process began, all that it was told stands in it but what holds throughout.
    if (more.source === "startup" && about.time?.created < LOADED) more = { ...more, source: "resume" }
    if (!more.messages) return run({ ...payload, ...more })
    let messages = (await more.messages(id)).flatMap(said)
    while (messages.length > 1 && JSON.stringify(messages).length > SESSION_MOST)
      messages = messages.slice(messages.length >> 1) // what is older was taken in before
    const title = /^(New|Child) session\b/.test(about.title) ? "" : about.title
    return run({ ...payload, session: { agent: "opencode", session_id: id, title, cwd: payload.cwd, messages } })
  }
  const captured = (event, id) => call(event, id, { messages: (id) => asked("messages", id) })

  const end = (id) => {
    const payload = { ...open.get(id), hook_event_name: "SessionEnd" }
    clearTimeout(payload.timer)
    open.delete(id)
    standing.delete(id)
    return run({ ...payload, timer: undefined })
  }

  const throughout = async (id) => {
    if (!standing.has(id)) {
      const source = compacted.delete(id) ? "compact" : begun.has(id) ? "resume" : "startup"
      begun.add(id)
      standing.set(id, call("SessionStart", id, { source }).catch(() => ""))
    }
    return standing.get(id)
  }

  return {
    throughout: (id) => within(WAITED_MS, id ? throughout(id) : Promise.resolve()),
    beside: (id, prompt) => {
      clearTimeout(open.get(id)?.timer)
      // A session begins before it is asked something.
      return within(WAITED_MS, throughout(id).then(() => call("UserPromptSubmit", id, { prompt })))
    },
    compacts: (id) => within(WAITED_MS, captured("PreCompact", id)),
    happened: async (type, id) => {
      const session = open.get(id)
      if (!session) return
      if (type === "session.deleted") await end(id)
      else if (type === "session.compacted" || type === "session.compaction.ended") {
        compacted.add(id)
        standing.delete(id)
        await throughout(id) // at once: it may be closed before it is asked again
      } else if (/^session\.(idle|execution\.(succeeded|failed|interrupted))$/.test(type)) {
        clearTimeout(session.timer)
        session.timer = setTimeout(safe(() => end(id)), QUIET_MS)
        session.timer.unref()
        await captured("Stop", id)
      }
    },
    endAll: () => {
      for (const [key, by] of TAKEN) if (by === open) TAKEN.delete(key)
      return within(WAITED_MS, Promise.all([...open.keys()].map(end)))
    },
  }
}

const server = async ({ client }) => {
  globalThis[FIRST_GENERATION] = true
  const ours = memory({
    session: (id) => client.session.get({ path: { id } }),
    messages: (id) => client.session.messages({ path: { id } }),
  })
  return {
    "chat.message": safe(async ({ sessionID }, { parts }) => {
      const own = parts.filter((part) => part.type === "text" && !part.synthetic)
      const text = await ours.beside(sessionID, own.map(typed).join("\n"))
      const last = parts.at(-1)
      if (!text || !last) return
      const id = `${last.id}0` // parts are kept in the order of their ids
      parts.push({ id, sessionID, messageID: last.messageID, type: "text", text, synthetic: true })
    }),
    "command.execute.before": safe(async ({ command, arguments: words }, { parts }) => {
      const line = `/${command} ${typed({ text: words ?? "" })}`.trim()
      for (const part of parts) if (part.type === "text") part.metadata = { ...part.metadata, [TYPED]: line }
    }),
    "experimental.chat.system.transform": safe(async ({ sessionID }, { system }) => {
      if (ASIDE.test(system[0])) return
      const text = await ours.throughout(sessionID)
      if (text) system.push(text)
    }),
    "experimental.session.compacting": safe(({ sessionID }) => ours.compacts(sessionID)),
    event: safe(({ event: { type, properties } }) => ours.happened(type, properties.sessionID ?? properties.info?.id)),
    dispose: safe(() => ours.endAll()),
  }
}

const setup = async (ctx) => {
  // Late releases of opencode 1 call this as well.
  if (globalThis[FIRST_GENERATION] || !ctx.session?.hook || !ctx.session.synthetic) return
  const ours = memory({
    session: (sessionID) => ctx.session.get({ sessionID }),
    messages: (sessionID) => ctx.session.context({ sessionID }),
  })
  const hook = (name, work) => ctx.session.hook(name, safe(work))
  await hook("prompt", async ({ sessionID, prompt }) => {
    const text = await ours.beside(sessionID, typed(prompt))
    // It stands before the message, is not shown, and sets nothing going by itself.
    if (text) await ctx.session.synthetic({ sessionID, text, description: "Autopoiesis", resume: false })
  })
  await hook("context", async ({ sessionID, system }) => {
    const text = await ours.throughout(sessionID)
    if (text) system.push({ type: "text", text })
  })
  await hook("compaction", ({ sessionID }) => ours.compacts(sessionID))
  const left = new AbortController()
  const listen = safe(async () => {
    for await (const { type, data } of ctx.event.subscribe({ signal: left.signal })) void safe(ours.happened)(type, data?.sessionID)
  })
  void listen()
  return safe(() => {
    left.abort()
    return ours.endAll()
  })
}

export default { id: "autopoiesis", server, setup: safe(setup) }
