import type { ComponentProps, ReactNode } from 'react'
import styles from './chat-message.module.css'
import { MessageView } from './message-view.tsx'

type ChatMessageProps = Omit<ComponentProps<typeof MessageView>, 'className'>

/** A question in a chat, or in a copy of one. */
export const QuestionView = (props: ChatMessageProps) => <MessageView className={styles.question} {...props} />

/** An answer in a chat, or in a copy of one. */
export const AnswerView = (props: ChatMessageProps) => <MessageView className={styles.answer} {...props} />

export const QuestionText = ({ children }: { children: string }) => (
  <p className={styles.text} dir="auto">
    {children}
  </p>
)

/** Says below an answer why it is incomplete, and what can be done. */
export const CutNote = ({ children }: { children: ReactNode }) => <p className={styles.cut}>{children}</p>
