import { tool } from '@langchain/core/tools'
import { MessagesAnnotation, StateGraph } from '@langchain/langgraph'
import { ToolNode, toolsCondition } from '@langchain/langgraph/prebuilt'
import { ChatOpenAI } from '@langchain/openai'
import { apiKey, baseURL, model, prompt, tools } from './files.mjs'

const own = tools.map(({ run, ...described }) => tool(run, described))
const chat = new ChatOpenAI({ model, apiKey, maxRetries: 0, configuration: { baseURL } }).bindTools(own)
const graph = new StateGraph(MessagesAnnotation)
  .addNode('model', async ({ messages }) => ({ messages: [await chat.invoke(messages)] }))
  .addNode('tools', new ToolNode(own))
  .addEdge('__start__', 'model')
  .addConditionalEdges('model', toolsCondition)
  .addEdge('tools', 'model')
  .compile()
const { messages } = await graph.invoke({ messages: [{ role: 'user', content: prompt }] })
console.log(messages.at(-1).text)
