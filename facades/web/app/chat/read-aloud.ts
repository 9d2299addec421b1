import { useEffect, useSyncExternalStore } from 'react'
import { onSessionEnd } from '../shared/api/session-end.ts'
import { language, t } from '../shared/text/labels.ts'

/** Absent in some browsers. */
const { speechSynthesis } = window as Partial<Pick<Window, 'speechSynthesis'>>

/** Finds a voice of this computer, if there is one in the language of the page. Others send the text to their maker. */
function findVoice(): SpeechSynthesisVoice | undefined {
  const voices = speechSynthesis?.getVoices().filter(({ localService }) => localService) ?? []
  return voices.find(({ lang }) => lang.slice(0, 2) === language.slice(0, 2)) ?? voices[0]
}

function subscribe(notify: () => void): () => void {
  // Browsers load their voices after the first question for them.
  speechSynthesis?.addEventListener('voiceschanged', notify)
  return () => speechSynthesis?.removeEventListener('voiceschanged', notify)
}

/** Returns true if this computer has a voice of its own. */
export const useCanReadAloud = (): boolean => useSyncExternalStore(subscribe, () => findVoice() !== undefined)

/** The press by which an answer is read, or will be once its text is prepared. */
let lastPress: symbol | undefined

function stopReading(): void {
  lastPress = undefined
  speechSynthesis?.cancel()
}

/** Stops reading when the chat is left, also by locking the keys, and when the session ends. */
export function useReadingEnd(): void {
  useEffect(() => {
    const stopListening = onSessionEnd(stopReading)
    // Some browsers go on after a reload.
    addEventListener('pagehide', stopReading)
    return () => {
      stopListening()
      removeEventListener('pagehide', stopReading)
      stopReading()
    }
  }, [])
}

/** Reads an answer aloud as it is shown, or stops reading. */
export async function readAloud(text: string): Promise<void> {
  const voice = findVoice()
  if (!speechSynthesis || !voice) return
  const isReading = speechSynthesis.speaking || lastPress !== undefined
  stopReading()
  if (isReading) return
  const press = Symbol()
  lastPress = press
  const { toSpokenText } = await import('../shared/markdown/spoken-text.ts')
  if (lastPress !== press) return
  const picture = (name: string) => t('app.markdown.picture', { name })
  const names = { code: t('app.spoken.code'), formula: t('app.spoken.formula'), picture }
  const utterance = new SpeechSynthesisUtterance(toSpokenText(text, names))
  utterance.voice = voice
  utterance.lang = voice.lang
  lastPress = undefined
  speechSynthesis.speak(utterance)
}
