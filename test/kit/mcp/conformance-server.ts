import { buildTool, startToolServer, type ToolServerRequest } from './tool-server.ts'

const text = (text: string) => ({ type: 'text', text })
const image = {
  type: 'image',
  data: 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  mimeType: 'image/png',
}
const audio = {
  type: 'audio',
  data: 'UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQAAAAA=',
  mimeType: 'audio/wav',
}
const resource = (uri: string, text: string) => ({ type: 'resource', resource: { uri, mimeType: 'text/plain', text } })

/** The answers of its tools, by their names without the prefix `test_`. */
const results: Record<string, object> = {
  simple_text: { content: [text('This is a simple text response for testing.')] },
  image_content: { content: [image] },
  audio_content: { content: [audio] },
  embedded_resource: { content: [resource('test://embedded-resource', 'This is an embedded resource content.')] },
  multiple_content_types: {
    content: [
      text('Multiple content types test:'),
      image,
      resource('test://mixed-content-resource', '{"test":"data"}'),
    ],
  },
  error_handling: { content: [text('This tool intentionally returns an error for testing')], isError: true },
  tool_with_progress: { content: [text('done')] },
  tool_with_logging: { content: [text('done')] },
  logging_tool: { content: [text('done')] },
  streaming_elicitation: { content: [text('done')] },
  trigger_tool_change: { content: [text('done')] },
  trigger_prompt_change: { content: [text('done')] },
}

const argument = (name: string) => ({ name, description: `The ${name}.`, required: true })
const said = (content: object) => ({ role: 'user', content })

/** Its prompts, and what they answer. */
const prompts: Record<string, { names: string[]; answer(values: Record<string, string>): object[] }> = {
  simple_prompt: { names: [], answer: () => [said(text('This is a simple prompt for testing.'))] },
  prompt_with_arguments: {
    names: ['arg1', 'arg2'],
    answer: ({ arg1, arg2 }) => [said(text(`Prompt with arguments: arg1='${arg1}', arg2='${arg2}'`))],
  },
  prompt_with_embedded_resource: {
    names: ['resourceUri'],
    answer: ({ resourceUri = '' }) => [
      said(resource(resourceUri, 'Embedded resource content for testing.')),
      said(text('Please process the embedded resource above.')),
    ],
  },
  spare_prompt: { names: [], answer: () => [said(text('done'))] },
  prompt_with_image: { names: [], answer: () => [said(image), said(text('Please analyze the image above.'))] },
}

const TEMPLATE = 'test://template/{id}/data'

/** Its resources, and the rest of what they answer. */
const resources: Record<string, object> = {
  'test://static-text': { mimeType: 'text/plain', text: 'This is the content of the static text resource.' },
  'test://static-binary': { mimeType: 'image/png', blob: image.data },
  [TEMPLATE.replace('{id}', '123')]: { mimeType: 'application/json', text: '{"id":"123","templateTest":true}' },
}
const describeResource = (name: string) => ({ name, description: `The resource ${name}.`, mimeType: 'text/plain' })

/** Its tools that want something of the person or their program before they answer, which a gateway does not pass on. */
const asking = [
  'sampling',
  'elicitation',
  'elicitation_sep1034_defaults',
  'elicitation_sep1330_enums',
  'input_required_result_elicitation',
  'input_required_result_sampling',
  'input_required_result_list_roots',
  'input_required_result_request_state',
  'input_required_result_multiple_inputs',
  'input_required_result_multi_round',
  'input_required_result_tampered_state',
  'input_required_result_capabilities',
]
const elicitation = {
  method: 'elicitation/create',
  params: {
    message: 'What is your name?',
    requestedSchema: { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] },
  },
}
const question = { resultType: 'input_required', inputRequests: { user_name: elicitation }, requestState: 'state' }

/** The schema of a tool of which every keyword must reach the client. */
const richSchema = {
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  type: 'object',
  $defs: {
    address: {
      $anchor: 'addressDef',
      type: 'object',
      properties: { street: { type: 'string' }, city: { type: 'string' } },
    },
  },
  properties: {
    name: { type: 'string' },
    address: { $ref: '#/$defs/address' },
    contactMethod: { type: 'string', enum: ['phone', 'email'] },
    phone: { type: 'string' },
    email: { type: 'string' },
  },
  allOf: [{ anyOf: [{ required: ['phone'] }, { required: ['email'] }] }],
  if: { properties: { contactMethod: { const: 'phone' } }, required: ['contactMethod'] },
  // biome-ignore lint/suspicious/noThenProperty: it is a keyword of schemas.
  then: { required: ['phone'] },
  else: { required: ['email'] },
  additionalProperties: false,
}

/** Starts the tool servers that the conformance suite wants. Their labels and names make up the names that it calls. */
export async function startConformanceServers() {
  await using startup = new AsyncDisposableStack()
  const inputSchema = { type: 'object', properties: {} }
  const names = [...Object.keys(results), ...asking]
  const server = startup.use(await startToolServer(names.map((name) => buildTool(name, { inputSchema }))))
  server.prompts = Object.entries(prompts).map(([name, { names }]) => ({
    name,
    description: `Asks by ${name}.`,
    arguments: names.map(argument),
  }))
  server.resources = ['test://static-text', 'test://static-binary'].map((uri) => ({
    uri,
    ...describeResource(uri.slice(7)),
  }))
  server.templates = [{ uriTemplate: TEMPLATE, ...describeResource('template') }]
  /** Each changes a list at the gateway. */
  const triggers: Record<string, () => Promise<unknown>> = {}
  server.behave = async (call) => {
    const { method, params: { name = '', uri = '', arguments: values } = {} } = call.rpc
    await triggers[name]?.()
    if (method === 'tools/call') answerCall(call)
    else if (method === 'prompts/get')
      call.reply({ messages: prompts[name]?.answer((values ?? {}) as Record<string, string>) })
    else if (method === 'resources/read')
      call.reply({ contents: [{ uri, ...resources[uri] }], ttlMs: 0, cacheScope: 'private' })
    else return false
    return true
  }
  const json = startup.use(await startToolServer([buildTool('schema_2020_12_tool', { inputSchema: richSchema })]))
  const spare = startup.use(await startToolServer([buildTool('spare')]))
  const servers = [
    { label: 'test', url: server.url, offers: ['prompts', 'resources'] },
    { label: 'json', url: json.url },
    { label: 'spare', url: spare.url },
  ]
  const started = startup.move()
  return { servers, triggers, [Symbol.asyncDispose]: () => started.disposeAsync() }
}

/** Answers a call, and sends before it what the tool reports or asks meanwhile. */
function answerCall({ rpc, response, reply }: ToolServerRequest): void {
  const { name = '', _meta: { progressToken } = {} } = rpc.params as {
    name?: string
    _meta?: { progressToken?: unknown }
  }
  const result = results[name] ?? question
  const messages = listMessages(name, progressToken)
  if (messages.length === 0) {
    reply(result)
    return
  }
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  for (const message of [...messages, { id: rpc.id, result: { resultType: 'complete', ...result } }])
    response.write(`data: ${JSON.stringify({ jsonrpc: '2.0', ...message })}\n\n`)
  response.end()
}

function listMessages(name: string, progressToken: unknown): object[] {
  const log = { method: 'notifications/message', params: { level: 'info', data: 'searching' } }
  if (name === 'logging_tool' || name === 'tool_with_logging') return [log]
  if (name === 'streaming_elicitation') return [{ id: 'question', ...elicitation }]
  if (name !== 'tool_with_progress' || progressToken === undefined) return []
  return [0, 50, 100].map((progress) => ({
    method: 'notifications/progress',
    params: { progressToken, progress, total: 100 },
  }))
}
