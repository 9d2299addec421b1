import { openai } from '@llamaindex/openai'
import { agent } from '@llamaindex/workflow'
import { tool } from 'llamaindex'
import { apiKey, baseURL, model, prompt, tools } from './files.mjs'

const files = agent({
  llm: openai({ model, apiKey, baseURL, additionalSessionOptions: { baseURL }, supportToolCall: true }),
  tools: tools.map(({ name, description, schema, run }) =>
    tool({ name, description, parameters: schema, execute: run }),
  ),
})
const { data } = await files.run(prompt)
console.log(data.result)
