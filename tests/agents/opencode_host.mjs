// Calls a plugin as opencode 1 or 2 does in a session, and prints what came of it.
const [file, generation, created, quits] = process.argv.slice(2)
const { default: plugin } = await import(file)
const id = "ses_4f2aB9"
const prompt = "Can you review the PR that just came in?"
const directory = "/home/robin/tidemark"
const time = { created: 1771264800000 }
const begun = { created: created ? Number(created) : Date.now() }
const out = { stored: [], system: [] }
const about = (each) => ({ id: each, parentID: each === id ? undefined : id, title: "New session - 1", time: begun })
const text = (said) => ({ type: "text", text: said })
const state = { status: "completed", input: { filePath: "a.py" } }

if (generation === "1") {
  const tool = { type: "tool", tool: "read", state: { ...state, output: "<content>\n1: x\n2: y\n</content>" } }
  const plans = ["", "Switching to build agent"].map((title) => ({ type: "tool", tool: "plan_exit", state: { ...state, title, output: "ok" } }))
  const command = [text("Never push to main. now")]
  const messages = () => [
    { info: { role: "user", time }, parts: out.stored },
    { info: { role: "assistant", time }, parts: [{ type: "reasoning", text: "hm" }, text("I look."), tool] },
    { info: { role: "assistant", time, summary: true }, parts: [text("a summary")] },
    { info: { role: "assistant", time }, parts: [{ ...tool, tool: "forge_read" }, text("Two remarks."), ...plans] },
    { info: { role: "user", time }, parts: command },
    { info: { role: "user", time }, parts: [text('"say \\"hi\\" there"')] },
    { info: { role: "user", time }, parts: [text('"quoted"')] },
  ]
  const session = {
    get: async ({ path }) => ({ data: { ...about(path.id), directory } }),
    messages: async () => ({ data: messages() }),
  }
  const twins = [await plugin.server({ client: { session } }), await plugin.server({ client: { session } })]
  const each = (name) => async (...given) => {
    for (const twin of twins) await twin[name](...given)
  }
  const hooks = Object.fromEntries(Object.keys(twins[0]).map((name) => [name, each(name)]))
  await plugin.setup({}) // a late version 1 does
  for (const sessionID of ["ses_child", id]) {
    out.stored = [{ id: "prt_1", sessionID, messageID: "msg_1", ...text(prompt) }]
    await hooks["chat.message"]({ sessionID }, { message: {}, parts: out.stored })
    out.child ??= out.stored.length
  }
  await hooks["command.execute.before"]({ command: "lint", sessionID: id, arguments: "now" }, { parts: command })
  const titled = { system: ["You are a title generator. You output ONLY a thread title."] }
  await hooks["experimental.chat.system.transform"]({ sessionID: id }, titled)
  out.titled = titled.system.length
  for (const sessionID of [id, id, undefined]) await hooks["experimental.chat.system.transform"]({ sessionID }, out)
  await hooks.event({ event: { type: "session.idle", properties: { sessionID: id } } })
  await hooks["experimental.session.compacting"]({ sessionID: id }, { context: [] })
  await hooks.event({ event: { type: "session.compacted", properties: { sessionID: id } } })
  if (!quits) await hooks["experimental.chat.system.transform"]({ sessionID: id }, out)
  await hooks.dispose()
} else {
  const tool = { type: "tool", name: "read", state: { ...state, content: [text("1\n2")] } }
  const content = [{ type: "reasoning", text: "hm" }, text("I look."), tool, { ...tool, name: "forge_read" }, text("Two remarks.")]
  const work = {}
  const events = new TransformStream()
  const writer = events.writable.getWriter()
  const session = {
    hook: async (name, callback) => void (work[name] = callback),
    get: async ({ sessionID }) => ({ ...about(sessionID), location: { directory } }),
    synthetic: async (given) => void out.stored.push({ ...given, type: "synthetic" }),
    context: async () => [
      ...out.stored,
      { type: "user", text: prompt, time },
      { type: "assistant", time, content },
      { type: "idle" },
    ],
  }
  const end = await plugin.setup({ session, event: { subscribe: () => events.readable } })
  for (const sessionID of ["ses_child", id]) {
    await work.prompt({ sessionID, prompt: { text: prompt } })
    out.child ??= 1 + out.stored.length
  }
  for (const _ of [1, 2]) await work.context({ sessionID: id, system: out.system })
  await writer.write({ type: "session.execution.succeeded", data: { sessionID: id } })
  await work.compaction({ sessionID: id })
  await writer.write({ type: "session.compaction.ended", data: { sessionID: id } })
  if (!quits) await work.context({ sessionID: id, system: out.system })
  await end()
}
console.log(JSON.stringify(out))
