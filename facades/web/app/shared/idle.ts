import { useEffect, useState } from 'react'

const IDLE_DELAY_MS = 2000

/** Turns true some time after the first render, when chunks that nobody waits for may load. */
export function useIsIdle(): boolean {
  const [isIdle, setIdle] = useState(false)
  useEffect(() => {
    const timer = setTimeout(() => setIdle(true), IDLE_DELAY_MS)
    return () => clearTimeout(timer)
  }, [])
  return isIdle
}
