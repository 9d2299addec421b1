import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import { Agent } from '@mastra/core/agent'
import { createTool } from '@mastra/core/tools'
import { apiKey, baseURL, model, prompt, tools } from './files.mjs'

const files = new Agent({
  id: 'files',
  name: 'files',
  instructions: 'You work with files.',
  model: createOpenAICompatible({ name: 'svc', baseURL, apiKey })(model),
  tools: Object.fromEntries(
    tools.map(({ name, description, schema, run }) => [
      name,
      createTool({ id: name, description, inputSchema: schema, execute: (input) => run(input.context ?? input) }),
    ]),
  ),
})
const { text } = await files.generate(prompt, { maxSteps: 8 })
console.log(text)
