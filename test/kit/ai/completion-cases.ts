/** A completion as its caller gets it. */
export interface ExpectedAnswer {
  text?: string
  thoughts?: string
  calls?: [name: string, input: string][]
  end: 'stop' | 'length' | 'tool_calls' | 'content_filter' | 'error'
  /** Input, output and cached tokens. */
  tokens?: [input: number, output: number, cached?: number]
}

/** Builds the expected answer: a whole answer that fails has only its end. */
export const buildExpectedAnswer = (right: ExpectedAnswer, stream: boolean): ExpectedAnswer =>
  right.end === 'error' && !stream ? { end: 'error' } : right

const tokens: ExpectedAnswer['tokens'] = [11, 7]
const find = (q: string): [string, string] => ['find', `{"q":"${q}"}`]

/** The expected answer for each file beside `cases.test.ts`. */
export const completionCases: Record<string, ExpectedAnswer> = {
  'streams/azfirst.sse': { text: 'azure', end: 'stop', tokens },
  'streams/bytes.sse': { text: 'Grüße 👩‍👩‍👧 日本', end: 'stop', tokens },
  'streams/close-think-only.sse': {
    text: 'Hello!',
    thoughts: 'Alright, the person greets me. I greet back.\n',
    end: 'stop',
    tokens: [11, 17],
  },
  'streams/gemini-signature.sse': { calls: [find('a')], end: 'tool_calls', tokens },
  'streams/reasoning-only-length.sse': { thoughts: 'Long thoughts that never end', end: 'length', tokens: [11, 17] },
  'streams/dnull.sse': { text: 'xy', end: 'stop', tokens },
  'streams/donespace.sse': { text: 'x', end: 'stop', tokens },
  'streams/eofnofin.sse': { text: 'half an ans', end: 'error' },
  'streams/errmid.sse': { text: 'begin', end: 'error' },
  'streams/evping.sse': { text: 'xy', end: 'stop', tokens },
  'streams/finempty.sse': { text: 'hello', end: 'stop', tokens },
  'streams/finerror.sse': { text: 'I', end: 'error' },
  'streams/finmodellength.sse': { text: 'I', end: 'length', tokens },
  'streams/hangafterdone.sse': { text: 'x', end: 'stop', tokens },
  'streams/lastnonl.sse': { text: 'last', end: 'stop', tokens },
  'streams/mistral.sse': { text: 'sum is 2 ok', thoughts: 'hmm', end: 'stop', tokens },
  'streams/mistralref.sse': { text: 'see end', end: 'stop', tokens },
  'streams/mtoolcut.sse': { calls: [['find', '{"q":"m']], end: 'length', tokens },
  'streams/openrouter.sse': { text: 'router', end: 'stop', tokens },
  'streams/refusal.sse': { text: 'I will not do that', end: 'content_filter', tokens },
  'streams/thinktag.sse': { text: 'ans', thoughts: 'secret plan', end: 'stop', tokens },
  'streams/toolcut.sse': { calls: [['find', '{"q":"aaa']], end: 'length', tokens },
  'streams/toolempty.sse': { calls: [['now', '{}']], end: 'tool_calls', tokens },
  'streams/toolnoindex2.sse': { calls: [find('a'), find('b')], end: 'tool_calls', tokens },
  'streams/toolobj.sse': { calls: [find('obj')], end: 'tool_calls', tokens },
  'streams/toolsame0.sse': { calls: [find('a'), find('b')], end: 'tool_calls', tokens },
  'streams/usgdeepseek.sse': { text: 'x', end: 'stop', tokens: [100, 7, 90] },
  'streams/usgreasonout.sse': { text: 'x', end: 'stop', tokens: [10, 107] },
  'answers/createdstr.json': { text: 'x', end: 'stop', tokens },
  'answers/usgstr.json': { text: 'x', end: 'stop', tokens },
}
