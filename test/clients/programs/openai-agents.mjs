import { Agent, OpenAIProvider, Runner, setTracingDisabled, tool } from '@openai/agents'
import { apiKey, baseURL, model, prompt, tools } from './files.mjs'

setTracingDisabled(true)
const agent = new Agent({
  name: 'Files',
  instructions: 'You work with files.',
  model,
  tools: tools.map(({ name, description, schema, run }) =>
    tool({ name, description, parameters: schema, execute: run }),
  ),
})
const runner = new Runner({ modelProvider: new OpenAIProvider({ apiKey, baseURL, useResponses: true }) })
const result = await runner.run(agent, prompt, { stream: true })
await result.completed
console.log(result.finalOutput)
